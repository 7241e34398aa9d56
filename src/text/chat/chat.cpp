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

const ChatFormat& format_of(const ChatOptions& options, std::string_view source) {
  if (options.format == "auto") return detect_chat_format(source);
  if (const ChatFormat* known = find_chat_format(options.format)) return *known;
  std::string names = "auto";
  for (const ChatFormat* format : chat_formats()) names += ", " + std::string(format->name);
  fail(Code::Argument, "chat format {} is none of {}", quoted(options.format), names);
}

/// Adds the format's own template for families whose models ship none.
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
    : options_(with_template(std::move(options))), tokenizer_(tokenizer) {
  add_form(options_.source, options_.source_name);
  if (!options_.tool_source.empty()) add_form(options_.tool_source, options_.tool_source_name);
}

void Chat::add_form(std::string source, std::string name) {
  const ChatFormat& format = format_of(options_, source);
  auto form = std::make_unique<ChatForm>(
      ChatForm{.source = ChatTemplate(std::move(source), std::move(name)), .format = &format});
  if (!options_.raw) probe(*form);
  if (options_.generic_tools && options_.tool_source.empty()) probe_tools(*form);
  if (tokenizer_ != nullptr) form->marks = marks_of(*form->format, *tokenizer_);
  forms_.push_back(std::move(form));
}

std::optional<std::string> Chat::probed(const ChatForm& form, std::string_view messages,
                                        std::string_view tools) const {
  ChatTemplate::Variables variables = special_tokens();
  variables.emplace("messages", jinja::value_from_json(messages, "probe"));
  variables.emplace("add_generation_prompt", jinja::Value::boolean(false));
  if (!tools.empty()) variables.emplace("tools", jinja::value_from_json(tools, "probe"));
  try {
    return std::string(render_template(form, variables, jinja::CalendarTime{.year = 2026}).view());
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool Chat::probe_shows(const ChatForm& form, std::string_view messages, std::string_view wanted,
                       std::string_view unwanted) const {
  const std::optional<std::string> text = probed(form, messages);
  return text && text->find(wanted) != std::string::npos &&
         text->find(unwanted) == std::string::npos;
}

void Chat::probe(ChatForm& form) const {
  const bool takes_text =
      probe_shows(form, R"([{"role":"user","content":"cZ7needle"}])", kNeedle, "\x01");
  const bool takes_parts =
      probe_shows(form, R"([{"role":"user","content":[{"type":"text","text":"cZ7needle"}]}])",
                  kNeedle, "'text'");
  form.reading.join_parts = takes_text && !takes_parts;
  const auto call = [](std::string_view arguments, std::string_view content = "\"\"") {
    return fmt::format(
        R"([{{"role":"user","content":"q"}},{{"role":"assistant","content":{},"tool_calls":[)"
        R"({{"id":"abcdef123","type":"function","function":{{"name":"f","arguments":{}}}}}]}}])",
        content, arguments);
  };
  // A template that applies tojson to the arguments shows a string in quotes.
  const bool takes_object = probe_shows(form, call(R"({"cZ7needle":1})"), kNeedle, "'cZ7needle'");
  const bool takes_string = probe_shows(form, call(R"("{\"cZ7needle\": 1}")"), kNeedle, "\\\"");
  const bool keeps_arguments = takes_string && !takes_object;
  form.reading.parse_arguments = !keeps_arguments;
  form.reading.wrap_arguments =
      takes_object && !probe_shows(form, call(R"("cZ7needle")"), kNeedle, "\x01");
  const std::string_view arguments =
      keeps_arguments ? R"("{\"cZ7needle\": 1}")" : R"({"cZ7needle":1})";
  const std::optional<std::string> empty = probed(form, call(arguments));
  form.reading.fill_content = empty && empty != probed(form, call(arguments, "null"));
}

void Chat::probe_tools(ChatForm& form) const {
  const bool reads_calls =
      form.format->make_calls != nullptr || form.format->make_layout != nullptr;
  if (options_.format != "auto" || reads_calls) return;
  constexpr std::string_view kTools =
      R"([{"type":"function","function":{"name":"cZ7needle","description":"d","parameters":)"
      R"({"type":"object","properties":{"p":{"type":"string","description":"d"}}}}}])";
  const std::optional<std::string> text =
      probed(form, R"([{"role":"user","content":"q"}])", kTools);
  if (text && text->find(kNeedle) != std::string::npos) return;
  form.reading.tell_tools = true;
  form.reading.shows_system = probe_shows(
      form, R"([{"role":"system","content":"cZ7needle"},{"role":"user","content":"q"}])", kNeedle,
      "\x01");
  form.format = find_chat_format("hermes");
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

jinja::Text Chat::render_template(const ChatForm& form, const ChatTemplate::Variables& variables,
                                  std::optional<jinja::CalendarTime> now) const {
  jinja::Limits limits;
  limits.time_ns = options_.time_ms * 1'000'000;
  limits.thread_time_ns = options_.thread_time_ns;
  return form.source.render(variables, limits, now);
}

jinja::Text Chat::render_continued(const ChatForm& form, Conversation given,
                                   std::string_view conversation) const {
  const ContinuedTurn& turn = *given.continued;
  const jinja::Value messages = given.variables["messages"];
  // A mark after the text shows where to cut the prompt.
  std::string mark = "cZ7end";
  while (conversation.find(mark) != conversation.npos) mark += 'Z';
  given.variables["messages"] = with_last_text(messages, turn, mark);
  given.variables["add_generation_prompt"] = jinja::Value::boolean(false);
  try {
    const jinja::Text whole = render_template(form, given.variables, given.now);
    const size_t at = whole.view().rfind(mark);
    if (at != std::string_view::npos) return whole.slice(0, at);
  } catch (const Error&) {  // the template may refuse such a conversation
  }
  // The template drops the text: append it to the beginning of an answer.
  given.variables["messages"] = without_last(messages);
  given.variables["add_generation_prompt"] = jinja::Value::boolean(true);
  jinja::Text text = render_template(form, given.variables, given.now);
  const std::string_view open = form.format->think.open;
  const bool opened =
      without_space_after(text.view()).ends_with(without_space_after(open)) && !open.empty();
  if (turn.reasons && !opened) text.append(open, false);
  if (!turn.reasons && opened) text.append(form.format->think.close, false);
  text.append(turn.text);
  return text;
}

ChatPrompt Chat::render(std::string_view conversation, size_t dropped_turns) const {
  const jinja::Value read = parse_conversation(conversation);
  const ChatForm& form = uses_tools(read) ? *forms_.back() : *forms_.front();
  ConversationForm reading = form.reading;
  reading.dropped_turns = dropped_turns;
  Conversation given = read_conversation(read, reading);
  given.variables.merge(special_tokens());  // the conversation's variables take precedence
  ChatPrompt prompt;
  prompt.form = &form;
  prompt.has_tools = given.has_tools;
  prompt.num_calls = given.num_calls;
  prompt.num_turns = given.num_turns;
  prompt.types = std::move(given.types);
  prompt.rules = std::move(given.rules);
  if (!given.continued) {
    prompt.text = render_template(form, given.variables, given.now);
    return prompt;
  }
  prompt.begin = given.continued->reasons ? ReplyBegin::InReasoning : ReplyBegin::InContent;
  prompt.text = render_continued(form, std::move(given), conversation);
  return prompt;
}

std::vector<Token> Chat::encode(const ChatPrompt& prompt) const {
  if (tokenizer_ == nullptr) fail(Code::State, "the chat was made without a model: no tokens");
  const std::vector<TextPart> parts = prompt.parts();
  std::vector<Token> tokens = tokenizer_->encode(parts, true);
  // Some templates write the begin token, others leave it to the tokenizer.
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

std::shared_ptr<const Grammar> Chat::answer_grammar(const ChatPrompt& prompt,
                                                    WorkWatch* watch) const {
  using Calls = AnswerRules::Calls;
  AnswerRules rules = prompt.rules;
  const ChatFormat& format = *prompt.form->format;
  const std::string& source = prompt.form->source.source();
  const CallShape* shape = call_shape_of(format, source);
  if (rules.calls == Calls::Required && shape == nullptr) {
    fail(Code::Unsupported, "chat format {} has no grammar of calls: tool_choice can only be auto",
         format.name);
  }
  if (rules.schema && prompt.begin == ReplyBegin::InContent) {
    fail(Code::Unsupported,
         "conversation: \"response_format\" cannot be kept in a message that is continued");
  }
  // Content by a schema leaves no room for optional calls.
  const bool left_out = shape == nullptr || rules.schema || !options_.constrain_calls;
  if (rules.calls == Calls::Allowed && left_out) rules.calls = Calls::None;
  if (rules.calls == Calls::Required) rules.schema.reset();
  const bool has_marks = shape != nullptr || !format.call_openers[0].empty();
  rules.forbids_calls = rules.forbids_calls && has_marks;
  if (rules.calls == Calls::None && !rules.schema && !rules.forbids_calls) return nullptr;
  const std::string_view text = prompt.text.view();
  AnswerBegin begin = begin_of_answer(format, source, text);
  if (prompt.begin == ReplyBegin::InContent) begin = AnswerBegin::Content;
  if (prompt.begin == ReplyBegin::InReasoning) begin = AnswerBegin::Reasoning;
  const std::string_view content_open = format.content_open;
  const bool content_opened = !content_open.empty() && text.ends_with(content_open);
  const size_t index = prompt.form == forms_.front().get() ? 0 : 1;
  std::string key =
      fmt::format("{} {} {} {} {} {}", index, static_cast<int>(begin), content_opened,
                  static_cast<int>(rules.calls), rules.parallel_calls, rules.forbids_calls);
  if (rules.schema) key += json_of(*rules.schema);
  if (rules.calls != Calls::None) {
    for (const OfferedTool& tool : rules.tools) {
      append_json_string(tool.name, key);
      if (tool.parameters.is(jinja::Kind::Dict)) key += json_of(tool.parameters);
    }
  }
  return grammars_.get(GrammarKind::Written, key, [&] {
    return tenon::answer_grammar({format, shape, begin, content_opened}, rules, prompt.form->marks,
                                 grammars_.parts(), watch);
  });
}

ReplyParser Chat::make_parser(const ChatPrompt& prompt) const {
  return ReplyParser(*prompt.form->format, prompt.text.view(), prompt.has_tools, prompt.types,
                     prompt.num_calls, prompt.begin);
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
