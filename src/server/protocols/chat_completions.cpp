// POST /v1/chat/completions.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "server/answers/answer_run.h"
#include "server/answers/chat_plan.h"
#include "server/http/event_stream.h"
#include "server/json/json_text.h"
#include "server/json/random_id.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/custom_tools.h"
#include "server/protocols/other_fields.h"
#include "server/protocols/usage.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// is_old: reports calls as function_call.
const char* finish_reason(Finish finish, bool has_calls, bool is_old) {
  if (finish == Finish::Length) return "length";
  if (!has_calls) return "stop";
  return is_old ? "function_call" : "tool_calls";
}

/// Call id for the client, unique across conversations. Ids that the library generated repeat in
/// each conversation.
std::string call_id(std::string_view id) {
  return id.starts_with("call_") ? random_id("call_") : std::string(id);
}

/// Members common to both forms of the answer.
class ChatWriter : public AnswerWriter {
 public:
  struct Form {
    const ServedModel* model = nullptr;
    size_t num_choices = 1;
    int64_t seed = 0;  ///< seed of the first choice; later choices count up
    bool logprobs = false;
    bool includes_usage = false;              ///< usage in a stream's last chunk
    bool is_old = false;                      ///< function_call instead of tool_calls
    std::vector<std::string> custom_names{};  ///< names of tools that take a text
  };

  explicit ChatWriter(Form form) : form_(std::move(form)) {}

  void fail(Exchange& exchange, const ApiError& error) override { answer_error(exchange, error); }

 protected:
  [[nodiscard]] Json object(const char* kind) const {
    return {{"id", id_},
            {"object", kind},
            {"created", created_},
            {"model", form_.model->name()},
            {"system_fingerprint", form_.model->fingerprint()},
            {"seed", form_.seed}};
  }
  [[nodiscard]] Json logprobs(const std::vector<DrawnToken>& tokens) const {
    if (!form_.logprobs) return nullptr;
    return {{"content", logprobs_json(tokens, form_.model->tokenizer())}, {"refusal", nullptr}};
  }
  [[nodiscard]] bool is_custom(std::string_view name) const {
    return std::find(form_.custom_names.begin(), form_.custom_names.end(), name) !=
           form_.custom_names.end();
  }
  void count(size_t choice, const AnswerEnd& end) { usage_.add(end, choice == 0); }
  [[nodiscard]] const Form& form() const { return form_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }

 private:
  Form form_;
  std::string id_ = random_id("chatcmpl-");
  int64_t created_ = unix_seconds();
  Usage usage_;
};

class WholeChat : public ChatWriter {
 public:
  explicit WholeChat(Form form)
      : ChatWriter(form), ends_(form.num_choices), tokens_(form.num_choices) {}

  void begin(Exchange&) override {}
  void delta(Exchange&, size_t choice, AnswerDelta delta) override {
    add(choice, std::move(delta.tokens));
  }
  void end(Exchange&, size_t choice, AnswerEnd end) override {
    add(choice, std::move(end.tokens));
    count(choice, end);
    bytes_ += end.message.size();
    ends_[choice] = {std::move(end.message), end.finish};
  }
  [[nodiscard]] size_t bytes_to_print() const override { return bytes_; }
  void complete(Exchange& exchange) override {
    std::string text = open_text(object("chat.completion"));
    text.reserve(text.size() + bytes_ + bytes_ / 4 + 1024);
    text += ",\"choices\":[";
    for (size_t i = 0; i < ends_.size(); ++i) {
      if (i > 0) text += ',';
      append_choice(text, i);
    }
    text += ']';
    Json rest{{"usage", usage().json()}};
    add_notes(exchange, rest);
    append_members(text, rest);
    text += '}';
    exchange.answer({.body = std::move(text)});
  }

 private:
  struct End {
    std::string message{};
    Finish finish = Finish::End;
  };

  void append_choice(std::string& text, size_t choice) {
    const End& end = ends_[choice];
    Json message = message_of(end.message);
    const bool has_calls = message.contains("tool_calls") || message.contains("function_call");
    text += open_text({{"index", choice},
                       {"message", std::move(message)},
                       {"finish_reason", finish_reason(end.finish, has_calls, form().is_old)}});
    text += ",\"logprobs\":";
    if (form().logprobs) {
      text += "{\"content\":";
      append_logprobs(text, tokens_[choice], form().model->tokenizer());
      text += ",\"refusal\":null}";
      tokens_[choice] = {};
    } else {
      text += "null";
    }
    text += '}';
  }

  void add(size_t choice, std::vector<DrawnToken> tokens) {
    bytes_ += logprobs_bytes(tokens);
    for (DrawnToken& token : tokens) tokens_[choice].push_back(std::move(token));
  }

  [[nodiscard]] Json message_of(const std::string& text) const {
    const Json read = parse_json(text);
    Json message{{"role", "assistant"}, {"content", nullptr}, {"refusal", nullptr}};
    const auto calls = read.find("tool_calls");
    const bool has_calls = calls != read.end() && calls->is_array() && !calls->empty();
    const auto content = read.find("content");
    if (content != read.end() && content->is_string()) message["content"] = *content;
    if (!has_calls && message["content"].is_null()) message["content"] = "";
    if (has_calls && message["content"] == "") message["content"] = nullptr;
    const auto thoughts = read.find("reasoning_content");
    if (thoughts != read.end() && thoughts->is_string() && *thoughts != "") {
      message["reasoning_content"] = *thoughts;
      message["reasoning"] = *thoughts;
    }
    if (!has_calls) return message;
    if (form().is_old) {
      message["function_call"] = (*calls)[0]["function"];
      return message;
    }
    Json list = Json::array();
    for (const Json& call : *calls) {
      const std::string id = call_id(call.value("id", std::string("call_")));
      const Json& name = call["function"]["name"];
      const Json& arguments = call["function"]["arguments"];
      if (is_custom(name.get_ref<const std::string&>())) {
        list.push_back(
            {{"id", id},
             {"type", "custom"},
             {"custom",
              {{"name", name}, {"input", CustomInput().push(arguments.get<std::string>())}}}});
        continue;
      }
      list.push_back({{"id", id},
                      {"type", "function"},
                      {"function", {{"name", name}, {"arguments", arguments}}}});
    }
    message["tool_calls"] = std::move(list);
    return message;
  }

  std::vector<End> ends_;
  std::vector<std::vector<DrawnToken>> tokens_;
  size_t bytes_ = 0;  ///< estimated bytes to print
};

class StreamedChat : public ChatWriter {
 public:
  explicit StreamedChat(Form form)
      : ChatWriter(form), calls_(form.num_choices), has_begun_(form.num_choices, false) {}

  void begin(Exchange& exchange) override { exchange.begin_stream(kEventStream); }

  void delta(Exchange& exchange, size_t choice, AnswerDelta delta) override {
    begin_choice(exchange, choice);
    Json change = change_of(choice, delta);
    if (change.is_null() && delta.tokens.empty()) return;
    if (change.is_null()) change = Json::object();
    send(exchange, choice, std::move(change), delta.tokens, nullptr);
  }

  void end(Exchange& exchange, size_t choice, AnswerEnd end) override {
    begin_choice(exchange, choice);
    count(choice, end);
    send(exchange, choice, Json::object(), end.tokens,
         finish_reason(end.finish, !calls_[choice].numbers.empty(), form().is_old));
  }

  void complete(Exchange& exchange) override {
    if (form().includes_usage) {
      Json chunk = object("chat.completion.chunk");
      chunk["choices"] = Json::array();
      chunk["usage"] = usage().json();
      add_notes(exchange, chunk);
      exchange.send(event_text(to_text(chunk)));
    }
    exchange.send(event_text("[DONE]"));
    exchange.end_stream();
  }

  void fail(Exchange& exchange, const ApiError& error) override {
    exchange.send(event_text(error_body(error, ErrorShape::OpenAi)));
    exchange.end_stream();
  }

 private:
  struct Calls {
    std::map<uint64_t, size_t> numbers{};      ///< call numbers of the library to indexes
    std::map<uint64_t, CustomInput> inputs{};  ///< inputs of calls to text tools
    bool is_broken = false;  ///< a call was cut: its sent part must not repeat as content
  };

  /// Send the role with the first token, to tell the client that its request runs.
  void begin_choice(Exchange& exchange, size_t choice) {
    if (has_begun_[choice]) return;
    has_begun_[choice] = true;
    send(exchange, choice, {{"role", "assistant"}, {"content", ""}}, {}, nullptr);
  }

  /// Members that a delta adds; null for none.
  Json change_of(size_t choice, const AnswerDelta& delta) {
    Calls& calls = calls_[choice];
    switch (delta.kind) {
      case TENON_CHAT_REASONING:
        return {{"reasoning_content", delta.text}, {"reasoning", delta.text}};
      case TENON_CHAT_CALL_BEGIN: {
        const size_t index = calls.numbers.size();
        calls.numbers.emplace(delta.call, index);
        if (is_custom(delta.text)) {
          calls.inputs.emplace(delta.call, CustomInput());
          return {{"tool_calls",
                   {{{"index", index},
                     {"id", call_id(delta.id)},
                     {"type", "custom"},
                     {"custom", {{"name", delta.text}, {"input", ""}}}}}}};
        }
        const Json function{{"name", delta.text}, {"arguments", ""}};
        if (form().is_old) return {{"function_call", function}};
        return {{"tool_calls",
                 {{{"index", index},
                   {"id", call_id(delta.id)},
                   {"type", "function"},
                   {"function", function}}}}};
      }
      case TENON_CHAT_ARGUMENTS: {
        const auto input = calls.inputs.find(delta.call);
        if (input != calls.inputs.end()) {
          const Json custom{{"input", input->second.push(delta.text)}};
          if (custom["input"] == "") return nullptr;
          return {{"tool_calls", {{{"index", calls.numbers.at(delta.call)}, {"custom", custom}}}}};
        }
        const Json function{{"arguments", delta.text}};
        if (form().is_old) return {{"function_call", function}};
        return {
            {"tool_calls", {{{"index", calls.numbers.at(delta.call)}, {"function", function}}}}};
      }
      case TENON_CHAT_CALL_RETRACT:
        calls.is_broken = true;
        return nullptr;
      case TENON_CHAT_CONTENT:
        if (calls.is_broken || delta.text.empty()) return nullptr;
        return {{"content", delta.text}};
      default:
        return nullptr;
    }
  }

  void send(Exchange& exchange, size_t choice, Json change, const std::vector<DrawnToken>& tokens,
            const char* finish) {
    Json chunk = object("chat.completion.chunk");
    chunk["choices"] = {{{"index", choice},
                         {"delta", std::move(change)},
                         {"logprobs", tokens.empty() ? Json(nullptr) : logprobs(tokens)},
                         {"finish_reason", finish == nullptr ? Json(nullptr) : Json(finish)}}};
    if (form().includes_usage) chunk["usage"] = nullptr;
    exchange.send(event_text(to_text(chunk)));
  }

  std::vector<Calls> calls_;
  std::vector<bool> has_begun_;  ///< the choice's role was sent
};

/// The likely answer: a text or a list of parts.
std::string read_prediction(const Fields& fields) {
  const std::optional<Fields> prediction = fields.object("prediction");
  const Json* content = prediction ? prediction->find("content") : nullptr;
  if (content == nullptr) return {};
  return text_of_content(*content, prediction->path_of("content"));
}

void check_modalities(const Fields& fields) {
  const Json* modalities = fields.list("modalities");
  if (modalities == nullptr) return;
  for (const Json& modality : *modalities) {
    if (modality != "text") fields.refuse("modalities", "the model answers in text only");
  }
}

}  // namespace

Start handle_chat_completions(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  check_modalities(fields);
  std::vector<std::string> notes;
  check_other_fields(fields, kChatFields, notes);

  ChatRequest chat{.messages = read_messages(fields, notes),
                   .tools = read_tools(fields),
                   .response_format = read_response_format(fields, notes),
                   .format_field = schema_field(fields),
                   .variables = read_template_variables(fields),
                   .sampling = read_sampling(fields, model.tokenizer()),
                   .grammar = read_structured_outputs(fields)};
  chat.notes = std::move(notes);
  read_continuation(fields, chat);
  if (chat.grammar && (!chat.tools.tools.empty() || !chat.response_format.is_null())) {
    throw invalid_request("structured_outputs: cannot be kept beside tools or response_format",
                          "structured_outputs");
  }
  chat.num_choices =
      static_cast<size_t>(fields.integer("n", 1, state.limits.max_choices).value_or(1));
  const std::optional<uint64_t> older = read_max_tokens(fields, "max_tokens");
  const std::optional<uint64_t> newer = read_max_tokens(fields, "max_completion_tokens");
  chat.max_tokens = newer ? newer : older;
  chat.logprobs = fields.boolean("logprobs").value_or(false);
  const std::optional<int64_t> top = fields.integer("top_logprobs", 0, 20);
  if (top && *top > 0 && !chat.logprobs) {
    fields.refuse("top_logprobs", "logprobs must be true with it");
  }
  chat.num_top = static_cast<uint32_t>(top.value_or(0));
  chat.prediction = read_prediction(fields);
  const bool includes_usage = read_stream_options(fields);
  const bool is_streamed = fields.boolean("stream").value_or(false);
  chat.tells_tools = read_generic_tools(fields);
  chat.echo = read_echo(fields, request, state);
  const ChatWriter::Form form{.model = &model,
                              .num_choices = chat.num_choices,
                              .seed = chat.sampling.seed,
                              .logprobs = chat.logprobs,
                              .includes_usage = includes_usage,
                              .is_old = chat.tools.tools_field == "functions",
                              .custom_names = chat.tools.custom_names};
  std::unique_ptr<AnswerWriter> writer;
  if (is_streamed) {
    writer = std::make_unique<StreamedChat>(form);
  } else {
    writer = std::make_unique<WholeChat>(form);
  }
  return start_answers(plan_chat(model, std::move(chat)), std::move(writer), state);
}

}  // namespace tenon_http
