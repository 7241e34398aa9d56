#include "text/chat/chat.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat/answer_grammar.h"
#include "text/chat/conversation.h"
#include "text/chat_formats/json_scan.h"
#include "text/template/jinja_strftime.h"
#include "text/template/json_values.h"

namespace tenon {
namespace {

const ChatFormat& format_of(const ChatOptions& options) {
  if (options.format == "auto") return detect_chat_format(options.source);
  if (const ChatFormat* known = find_chat_format(options.format)) return *known;
  std::string names = "auto";
  for (const ChatFormat* format : chat_formats()) names += ", " + std::string(format->name);
  fail(Code::Argument, "chat format {} is none of {}", quoted(options.format), names);
}

/// A family whose models ship no template has one of its own.
ChatOptions with_template(ChatOptions options) {
  const ChatFormat* format = find_chat_format(options.format);
  if (!options.source.empty() || format == nullptr) return options;
  options.source = format->own_template;
  options.source_name = format->name;
  return options;
}

constexpr std::string_view kNeedle = "cZ7needle";

}  // namespace

std::vector<TextPart> ChatPrompt::parts() const {
  std::vector<TextPart> parts;
  for (const jinja::Text::Span& span : text.spans()) {
    parts.push_back({text.view().substr(span.begin, span.end - span.begin), !span.foreign});
  }
  return parts;
}

Chat::Chat(ChatOptions options, const Tokenizer* tokenizer)
    : options_(with_template(std::move(options))),
      template_(options_.source, options_.source_name),
      format_(&format_of(options_)),
      tokenizer_(tokenizer) {
  if (options_.adapt) probe();
  if (tokenizer_ != nullptr) marks_ = marks_of(*format_, *tokenizer_);
}

std::optional<std::string> Chat::probed(std::string_view messages) const {
  ChatTemplate::Variables variables = special_tokens();
  variables.emplace("messages", jinja::value_from_json(messages, "probe"));
  variables.emplace("add_generation_prompt", jinja::Value::boolean(false));
  try {
    return std::string(render_template(variables, jinja::CalendarTime{.year = 2026}).view());
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool Chat::probe_shows(std::string_view messages, std::string_view wanted,
                       std::string_view unwanted) const {
  const std::optional<std::string> text = probed(messages);
  return text && text->find(wanted) != std::string::npos &&
         text->find(unwanted) == std::string::npos;
}

void Chat::probe() {
  const bool takes_text =
      probe_shows(R"([{"role":"user","content":"cZ7needle"}])", kNeedle, "\x01");
  const bool takes_parts = probe_shows(
      R"([{"role":"user","content":[{"type":"text","text":"cZ7needle"}]}])", kNeedle, "'text'");
  joins_parts_ = takes_text && !takes_parts;
  const auto call = [](std::string_view arguments, std::string_view content = "\"\"") {
    return fmt::format(
        R"([{{"role":"user","content":"q"}},{{"role":"assistant","content":{},"tool_calls":[)"
        R"({{"id":"abcdef123","type":"function","function":{{"name":"f","arguments":{}}}}}]}}])",
        content, arguments);
  };
  // A template that puts the arguments through tojson shows a string in quotes.
  const bool takes_object = probe_shows(call(R"({"cZ7needle":1})"), kNeedle, "'cZ7needle'");
  const bool takes_string = probe_shows(call(R"("{\"cZ7needle\": 1}")"), kNeedle, "\\\"");
  keeps_arguments_ = takes_string && !takes_object;
  const std::string_view arguments =
      keeps_arguments_ ? R"("{\"cZ7needle\": 1}")" : R"({"cZ7needle":1})";
  const std::optional<std::string> empty = probed(call(arguments));
  fills_content_ = empty && empty != probed(call(arguments, "null"));
}

ChatTemplate::Variables Chat::special_tokens() const {
  ChatTemplate::Variables out;
  const auto add = [&](const char* name, std::optional<Token> token, bool always) {
    if (!token && !always) return;
    std::string spelling;
    if (token) spelling = tokenizer_->spelling(*token);
    out.emplace(name, jinja::Value::string(jinja::Text(std::move(spelling))));
  };
  if (tokenizer_ == nullptr) {
    add("bos_token", {}, true);
    add("eos_token", {}, true);
    return out;
  }
  const std::optional<Token> end = tokenizer_->eot() ? tokenizer_->eot() : tokenizer_->eos();
  add("bos_token", tokenizer_->bos(), true);
  add("eos_token", tokenizer_->eos() ? tokenizer_->eos() : end, true);
  add("unk_token", tokenizer_->unknown(), false);
  add("pad_token", tokenizer_->padding(), false);
  return out;
}

jinja::Text Chat::render_template(const ChatTemplate::Variables& variables,
                                  std::optional<jinja::CalendarTime> now) const {
  jinja::Limits limits;
  limits.time_ns = options_.time_ms * 1'000'000;
  limits.thread_time_ns = options_.thread_time_ns;
  return template_.render(variables, limits, now);
}

ChatPrompt Chat::render(std::string_view conversation, size_t dropped_turns) const {
  Conversation given =
      read_conversation(conversation, {.join_parts = joins_parts_,
                                       .fill_content = fills_content_,
                                       .parse_arguments = options_.adapt && !keeps_arguments_,
                                       .dropped_turns = dropped_turns});
  given.variables.merge(special_tokens());  // what is given counts
  ChatPrompt prompt;
  prompt.has_tools = given.has_tools;
  prompt.num_calls = given.num_calls;
  prompt.num_turns = given.num_turns;
  prompt.types = std::move(given.types);
  prompt.rules = std::move(given.rules);
  prompt.text = render_template(given.variables, given.now);
  return prompt;
}

std::vector<Token> Chat::encode(const ChatPrompt& prompt) const {
  if (tokenizer_ == nullptr) fail(Code::State, "the chat was made without a model: no tokens");
  const std::vector<TextPart> parts = prompt.parts();
  std::vector<Token> tokens = tokenizer_->encode(parts, true);
  // A template writes the begin token itself, or leaves it to the tokenizer.
  const std::optional<Token> bos = tokenizer_->bos();
  if (bos && tokens.size() >= 2 && tokens[0] == *bos && tokens[1] == *bos) {
    tokens.erase(tokens.begin());
  }
  if (tokenizer_->adds_eos() && tokenizer_->eos() && !tokens.empty() &&
      tokens.back() == *tokenizer_->eos()) {
    tokens.pop_back();
  }
  return tokens;
}

std::shared_ptr<const Grammar> Chat::answer_grammar(const ChatPrompt& prompt) const {
  using Calls = AnswerRules::Calls;
  AnswerRules rules = prompt.rules;
  const CallShape* shape = call_shape_of(*format_, options_.source);
  if (rules.calls == Calls::Required && shape == nullptr) {
    fail(Code::Unsupported, "chat format {} has no grammar of calls: tool_choice can only be auto",
         format_->name);
  }
  // Content by a schema leaves no room for calls that need not come.
  const bool left_out = shape == nullptr || rules.schema || !options_.constrain_calls;
  if (rules.calls == Calls::Allowed && left_out) rules.calls = Calls::None;
  if (rules.calls == Calls::Required) rules.schema.reset();
  if (rules.calls == Calls::None && !rules.schema) return nullptr;
  const AnswerBegin begin = begin_of_answer(*format_, options_.source, prompt.text.view());
  const std::string_view content_open = format_->content_open;
  const bool content_opened = !content_open.empty() && prompt.text.view().ends_with(content_open);
  std::string key = fmt::format("{} {} {} {}", static_cast<int>(begin), content_opened,
                                static_cast<int>(rules.calls), rules.parallel_calls);
  if (rules.schema) key += json_of(*rules.schema);
  if (rules.calls != Calls::None) {
    for (const OfferedTool& tool : rules.tools) {
      append_json_string(tool.name, key);
      if (tool.parameters.is(jinja::Kind::Dict)) key += json_of(tool.parameters);
    }
  }
  return grammars_.get(GrammarKind::Written, key, [&] {
    return tenon::answer_grammar({*format_, shape, begin, content_opened}, rules, marks_);
  });
}

ReplyParser Chat::make_parser(const ChatPrompt& prompt) const {
  return ReplyParser(*format_, prompt.text.view(), prompt.has_tools, prompt.types,
                     prompt.num_calls);
}

std::string message_json(const ReplyMessage& message) {
  std::string out = R"({"role": "assistant", "content": )";
  if (message.content.empty() && !message.calls.empty())
    out += "null";
  else
    append_json_string(message.content, out);
  if (!message.reasoning.empty()) {
    out += R"(, "reasoning_content": )";
    append_json_string(message.reasoning, out);
  }
  if (!message.calls.empty()) {
    out += R"(, "tool_calls": [)";
    for (const ReplyCall& call : message.calls) {
      if (&call != &message.calls.front()) out += ", ";
      out += R"({"id": )";
      append_json_string(call.id, out);
      out += R"(, "type": "function", "function": {"name": )";
      append_json_string(call.name, out);
      out += R"(, "arguments": )";
      append_json_string(call.arguments, out);
      out += "}}";
    }
    out += ']';
  }
  return out + '}';
}

}  // namespace tenon
