#include "server/protocols/response_output.h"

#include <algorithm>

#include "server/api_error.h"
#include "server/json/random_id.h"
#include "server/protocols/usage.h"

namespace tenon_http {
namespace {

std::string text_part(const std::string& text, const std::string& logprobs) {
  return open_text({{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}}) +
         ",\"logprobs\":" + logprobs + "}";
}

/// Text of an empty list.
constexpr std::string_view kNoItems = "[]";

}  // namespace

void ResponseOutput::emit(const char* type, Json members, std::string_view large) {
  members["output_index"] = items_.size();
  members["item_id"] = item_["id"];
  on_event_(type, std::move(members), large);
}

void ResponseOutput::emit_item(const char* type, const std::string& item) {
  on_event_(type, {{"output_index", items_.size()}}, ",\"item\":" + item);
}

void ResponseOutput::add(const AnswerDelta& delta) {
  switch (delta.kind) {
    case TENON_CHAT_REASONING:
      open(Kind::Reasoning, delta);
      text_ += delta.text;
      emit("response.reasoning_text.delta", {{"content_index", 0}, {"delta", delta.text}});
      if (!form_.summarizes) return;
      return emit("response.reasoning_summary_text.delta",
                  {{"summary_index", 0}, {"delta", delta.text}});
    case TENON_CHAT_CALL_BEGIN:
      return open_call(delta);
    case TENON_CHAT_ARGUMENTS: {
      const std::string more =
          is_custom_ ? custom_input_.push(delta.text) : std::string(delta.text);
      text_ += more;
      if (more.empty()) return;
      return emit(is_custom_ ? "response.custom_tool_call_input.delta"
                             : "response.function_call_arguments.delta",
                  {{"delta", more}});
    }
    case TENON_CHAT_CALL_END:
      return close();
    case TENON_CHAT_CALL_RETRACT:
      is_broken_ = true;
      status_ = "incomplete";
      return close();
    default: {
      if (is_broken_ || delta.text.empty()) return;
      open(Kind::Message, delta);
      text_ += delta.text;
      const std::string logprobs = note_tokens(delta.tokens);
      emit("response.output_text.delta", {{"content_index", 0}, {"delta", delta.text}},
           ",\"logprobs\":" + logprobs);
    }
  }
}

std::string ResponseOutput::note_tokens(const std::vector<DrawnToken>& tokens) {
  if (!form_.logprobs || tokens.empty()) return std::string(kNoItems);
  std::string list;
  append_logprobs(list, tokens, tokenizer_);
  text_logprobs_.add(std::string_view(list).substr(1, list.size() - 2));
  return list;
}

void ResponseOutput::open(Kind kind, const AnswerDelta&) {
  if (kind_ == kind) return;
  close();
  kind_ = kind;
  if (kind == Kind::Reasoning) return open_reasoning();
  item_ = {{"id", random_id("msg_")},
           {"type", "message"},
           {"status", "in_progress"},
           {"role", "assistant"},
           {"content", Json::array()}};
  emit_item("response.output_item.added", to_text(item_));
  emit("response.content_part.added", {{"content_index", 0}},
       ",\"part\":" + text_part("", std::string(kNoItems)));
}

void ResponseOutput::open_reasoning() {
  item_ = {{"id", random_id("rs_")},   {"type", "reasoning"},          {"summary", Json::array()},
           {"content", Json::array()}, {"encrypted_content", nullptr}, {"status", "in_progress"}};
  emit_item("response.output_item.added", to_text(item_));
  // Official clients put the deltas into this part. "response.reasoning_text.done" ends it.
  emit("response.content_part.added",
       {{"content_index", 0}, {"part", {{"type", "reasoning_text"}, {"text", ""}}}});
  if (!form_.summarizes) return;
  emit("response.reasoning_summary_part.added",
       {{"summary_index", 0}, {"part", {{"type", "summary_text"}, {"text", ""}}}});
}

void ResponseOutput::open_call(const AnswerDelta& delta) {
  close();
  kind_ = Kind::Call;
  ResponseTool tool{std::string(delta.text), std::string(delta.text)};
  for (const ResponseTool& known : tools_) {
    if (known.name == delta.text) tool = known;
  }
  is_custom_ = tool.is_custom;
  custom_input_ = {};
  item_ = {{"id", random_id(is_custom_ ? "ctc_" : "fc_")},
           {"type", is_custom_ ? "custom_tool_call" : "function_call"},
           {"status", "in_progress"},
           {"call_id", random_id("call_")},
           {"name", tool.shown_name},
           {is_custom_ ? "input" : "arguments", ""}};
  if (!tool.name_space.empty()) item_["namespace"] = tool.name_space;
  emit_item("response.output_item.added", to_text(item_));
}

void ResponseOutput::close() {
  if (kind_ == Kind::Reasoning) close_reasoning();
  if (kind_ == Kind::Message) close_message();
  if (kind_ == Kind::Call) close_call();
}

void ResponseOutput::close_reasoning() {
  item_["content"].push_back({{"type", "reasoning_text"}, {"text", text_}});
  emit("response.reasoning_text.done", {{"content_index", 0}, {"text", text_}});
  if (form_.summarizes) {
    const Json part{{"type", "summary_text"}, {"text", text_}};
    item_["summary"].push_back(part);
    emit("response.reasoning_summary_text.done", {{"summary_index", 0}, {"text", text_}});
    emit("response.reasoning_summary_part.done", {{"summary_index", 0}, {"part", part}});
  }
  end_item();
}

void ResponseOutput::close_message() {
  const std::string logprobs = text_logprobs_.take();
  const std::string part = text_part(text_, logprobs);
  emit("response.output_text.done", {{"content_index", 0}, {"text", text_}},
       ",\"logprobs\":" + logprobs);
  emit("response.content_part.done", {{"content_index", 0}}, ",\"part\":" + part);
  content_ = "[" + part + "]";
  end_item();
}

void ResponseOutput::close_call() {
  if (is_custom_) {
    item_["input"] = text_;
    emit("response.custom_tool_call_input.done", {{"input", text_}});
  } else {
    item_["arguments"] = text_;
    emit("response.function_call_arguments.done", {{"arguments", text_}, {"name", item_["name"]}});
  }
  end_item();
}

void ResponseOutput::end_item() {
  item_["status"] = status_;
  status_ = "completed";
  if (!content_.empty()) item_.erase("content");
  std::string whole = open_text(item_);
  if (!content_.empty()) whole.append(",\"content\":").append(content_);
  whole += '}';
  emit_item("response.output_item.done", whole);
  items_.add(whole);
  item_ = Json();
  kind_ = Kind::None;
  text_.clear();
  content_.clear();
}

void ResponseOutput::finish(bool is_cut, const std::vector<DrawnToken>& tokens) {
  if (kind_ == Kind::Message) (void)note_tokens(tokens);
  if (is_cut) status_ = "incomplete";
  if (kind_ == Kind::None && items_.is_empty()) open(Kind::Message, {});
  close();
}

}  // namespace tenon_http
