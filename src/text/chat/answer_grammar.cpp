#include "text/chat/answer_grammar.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat/bare_json.h"
#include "text/chat/free_text.h"
#include "text/chat/own_places.h"
#include "text/chat/parameter_kinds.h"
#include "text/chat/parameter_order.h"
#include "text/grammar/control_bytes.h"
#include "text/grammar/schema.h"
#include "text/template/jinja_format.h"

namespace tenon {
namespace {

using grammar::Nfa;
using jinja::Kind;
using jinja::Value;

// Strings that a format writes without quotes hold only text; answers may hold control tokens.
constexpr uint8_t kHighestTextByte = grammar::kFirstMarkByte - 1;
constexpr uint8_t kHighestByte = 0xFF;
// Maximum white space between reasoning and the next part.
constexpr size_t kMostSpace = 4;

std::vector<std::string_view> texts_of(const ChatFormat& format) {
  std::vector<std::string_view> texts{format.think.open, format.think.close, format.content_open};
  for (const CallShape& shape : format.shapes) {
    texts.insert(texts.end(), {shape.call, shape.trigger, shape.open, shape.separator, shape.close,
                               shape.parameter, shape.parameter_separator, shape.quote});
  }
  return texts;
}

/// Schema of a tool's arguments, restricted to objects.
std::string arguments_schema(const Value& parameters) {
  if (!parameters.is(Kind::Dict)) return R"({"type": "object"})";
  if (member_of(parameters, "type") != nullptr) return json_of(parameters);
  std::vector<std::pair<Value, Value>> entries = parameters.entries().entries;
  entries.emplace_back(Value::string(jinja::Text("type")), Value::string(jinja::Text("object")));
  return json_of(Value::dict(std::move(entries)));
}

class AnswerWriter {
 public:
  AnswerWriter(Nfa& nfa, const AnswerShape& shape, const AnswerRules& rules,
               std::span<const std::string> marks, grammar::KeptParts& parts)
      : nfa_(nfa), shape_(shape), rules_(rules), marks_(marks), parts_(parts) {}

  void write() {
    const uint32_t start = nfa_.rule(0).start, final = nfa_.rule(0).final;
    const ThinkMarks& think = shape_.format.think;
    if (rules_.schema || rules_.calls == AnswerRules::Calls::Required) {
      uint32_t content = nfa_.add_node();
      if (shape_.begin != AnswerBegin::Reasoning) nfa_.add_epsilon(start, content);
      if (shape_.begin != AnswerBegin::Content) {
        const bool opened = shape_.begin == AnswerBegin::Reasoning;
        std::vector<FreeTextStop> stops{{spelled(think.close), content}};
        if (ends_reasoning()) add_triggers(final, stops);
        const uint32_t inside = opened ? start : literal(start, think.open);
        add_free_text(nfa_, inside, stops, kHighestByte);
        content = space(content);
      }
      if (rules_.schema) {
        const std::string_view open = shape_.content_opened ? "" : shape_.format.content_open;
        nfa_.add_call(literal(content, open),
                      schema_rule("response_format", json_of(*rules_.schema)), final);
      }
      if (rules_.calls != AnswerRules::Calls::None) {
        const std::string_view open = shape_.format.content_open;
        const bool opened = shape_.content_opened && shape_.calls->open.starts_with(open);
        calls(content, opened ? open.size() : 0, final);
      }
      return;
    }
    // Free text until a call begins; may end anywhere.
    std::vector<FreeTextStop> triggers;
    add_triggers(final, triggers);
    if (shape_.begin == AnswerBegin::Content) {
      add_free_text(nfa_, start, triggers, kHighestByte, final);
      return;
    }
    const uint32_t inside = shape_.begin == AnswerBegin::Reasoning ? start : nfa_.add_node();
    const uint32_t content = nfa_.add_node();
    std::vector<FreeTextStop> stops;
    if (ends_reasoning()) stops = triggers;
    stops.push_back({spelled(think.close), content});
    add_free_text(nfa_, inside, stops, kHighestByte, final);
    add_free_text(nfa_, content, triggers, kHighestByte, final);
    if (shape_.begin == AnswerBegin::Reasoning) return;
    triggers.push_back({spelled(without_space_after(think.open)), inside, true});
    add_free_text(nfa_, start, triggers, kHighestByte, final);
  }

 private:
  /// Writes the content of a placeholder. rest: text after it, from which the writer may take a
  /// prefix.
  using Place =
      std::function<uint32_t(std::string_view name, uint32_t from, std::string_view& rest)>;

  /// Text as the NFA has it: a control token is one byte.
  [[nodiscard]] std::string spelled(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      size_t best = marks_.size();
      for (size_t i = 0; i < marks_.size(); ++i) {
        const bool longer = best == marks_.size() || marks_[i].size() > marks_[best].size();
        if (text.starts_with(marks_[i]) && longer) best = i;
      }
      const bool is_mark = best != marks_.size();
      out += is_mark ? static_cast<char>(grammar::mark_byte(best)) : text[0];
      text.remove_prefix(is_mark ? marks_[best].size() : 1);
    }
    return out;
  }
  uint32_t literal(uint32_t from, std::string_view text) {
    return text.empty() ? from : nfa_.add_text(from, spelled(text));
  }
  /// Writes a piece of a shape whose line breaks and indentation are optional, since models of one
  /// family differ in them.
  uint32_t loose(uint32_t from, std::string_view text) {
    if (shape_.calls->exact) return literal(from, text);
    while (!text.empty()) {
      const size_t line = std::min(text.find('\n'), text.size());
      from = literal(from, text.substr(0, line));
      text.remove_prefix(line);
      const size_t space = text.size() - without_space_before(text).size();
      if (space == 0) continue;
      const uint32_t after = nfa_.add_text(from, text.substr(0, space));
      nfa_.add_epsilon(from, after);
      from = after;
      text.remove_prefix(space);
    }
    return from;
  }
  uint32_t space(uint32_t from) {
    for (size_t i = 0; i < kMostSpace; ++i) {
      const uint32_t next = nfa_.add_node();
      for (const char c : {' ', '\n'}) {
        nfa_.add_bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), next);
      }
      nfa_.add_epsilon(from, next);
      from = next;
    }
    return from;
  }

  /// Writes a text with placeholders.
  uint32_t filled(uint32_t from, std::string_view text, const Place& fill) {
    for (;;) {
      const size_t dollar = text.find('$');
      from = loose(from, text.substr(0, dollar));
      if (dollar == text.npos) return from;
      size_t end = dollar + 1;
      while (end < text.size() && text[end] >= 'a' && text[end] <= 'z') ++end;
      const std::string_view name = text.substr(dollar + 1, end - dollar - 1);
      text.remove_prefix(end);
      from = fill(name, from, text);
    }
  }

  /// Rule of a schema; equal schemas share a rule.
  uint32_t schema_rule(const std::string& whose, const std::string& schema) {
    const auto known = schemas_.find(schema);
    if (known != schemas_.end()) return known->second;
    try {
      const uint32_t rule = grammar::add_schema(schema, nfa_, parts_);
      schemas_.emplace(schema, rule);
      return rule;
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", whose, error.what());
    }
  }

  [[nodiscard]] bool ends_reasoning() const {
    return shape_.format.calls_end_reasoning && rules_.calls != AnswerRules::Calls::None;
  }

  /// Stops of free text that begin calls: the trigger, and other openers of the family within the
  /// shape, since models may skip the text before them.
  void add_triggers(uint32_t final, std::vector<FreeTextStop>& stops) {
    if (rules_.calls == AnswerRules::Calls::None) return forbid_triggers(stops);
    const CallShape& shape = *shape_.calls;
    const std::string before = std::string(shape.open) + std::string(shape.call);
    const auto add = [&](std::string_view mark) {
      const size_t at = before.find(mark);
      if (mark.empty() || at == before.npos) return;
      const uint32_t called = nfa_.add_node();
      calls(called, at + mark.size(), final);
      stops.push_back({spelled(mark), called, shape.only_at_start});
    };
    add(shape.trigger);
    for (const std::string_view opener : shape_.format.call_openers) {
      if (shape.trigger.find(opener) == shape.trigger.npos) add(opener);
    }
  }

  /// Keeps calls out of free text.
  void forbid_triggers(std::vector<FreeTextStop>& stops) const {
    const auto add = [&](std::string_view mark, bool at_start) {
      // A single bracket may begin a text, too.
      if (mark.size() > 1) stops.push_back({spelled(mark), FreeTextStop::kNowhere, at_start});
    };
    for (const std::string_view opener : shape_.format.call_openers) add(opener, false);
    if (shape_.calls != nullptr) add(shape_.calls->trigger, shape_.calls->only_at_start);
  }

  /// Writes the calls after `from`, without their first `skipped` bytes.
  void calls(uint32_t from, size_t skipped, uint32_t final) {
    const CallShape& calls = *shape_.calls;
    std::string_view first = calls.call;
    if (skipped <= calls.open.size()) {
      from = loose(from, calls.open.substr(skipped));
    } else {
      first.remove_prefix(skipped - calls.open.size());
    }
    const bool ends = !after_call_;
    if (ends) after_call_ = nfa_.add_node();
    begin_call(from, first);
    if (!ends) return;
    if (!calls.single && rules_.parallel_calls) {
      begin_call(loose(*after_call_, calls.separator), calls.call);
    }
    nfa_.add_epsilon(loose(*after_call_, std::string(calls.close) + "\n"), final);
  }

  /// Size of the call's text before the first part that depends on the tool.
  [[nodiscard]] static size_t size_before_names(std::string_view call) {
    size_t size = call.size();
    for (const std::string_view place : {"$name", "$arguments", "$parameters"}) {
      size = std::min(size, call.find(place));
    }
    return size;
  }

  /// Adds a call to any tool after `from`, or the rest of one. All paths share the part that
  /// depends on the tool.
  void begin_call(uint32_t from, std::string_view call) {
    const size_t before = size_before_names(call);
    from = filled(from, call.substr(0, before),
                  [&](std::string_view name, uint32_t at, std::string_view&) {
                    return add_own_place(nfa_, name, at);
                  });
    const std::string_view rest = call.substr(before);
    const auto [names, is_new] = names_.try_emplace(std::string(rest), 0);
    if (is_new) names->second = nfa_.add_node();
    nfa_.add_epsilon(from, names->second);
    if (is_new) add_names(names->second, rest);
  }

  void add_names(uint32_t from, std::string_view rest) {
    for (const OfferedTool& tool : rules_.tools) {
      check_name(tool);
      // One budget unit per tool, so that the number of tools is not limited.
      nfa_.budget().begin_unit(fmt::format("tool {}: ", quoted(tool.name)));
      nfa_.add_epsilon(call_of(from, rest, tool), *after_call_);
      nfa_.budget().enter(grammar::Budget::kWhole);
    }
  }

  uint32_t arguments_rule(const OfferedTool& tool) {
    return schema_rule(fmt::format("tool {}", quoted(tool.name)),
                       arguments_schema(tool.parameters));
  }

  static void check_name(const OfferedTool& tool) {
    const bool odd = tool.name.empty() || tool.name.size() > kMaxCallName ||
                     tool.name.find_first_of("\"\\<>{}\n\r\t") != std::string::npos;
    if (odd) fail(Code::Argument, "conversation: a tool has the name {}", quoted(tool.name));
  }

  uint32_t call_of(uint32_t from, std::string_view text, const OfferedTool& tool) {
    return filled(from, text, [&](std::string_view name, uint32_t at, std::string_view&) {
      if (name == "name") return nfa_.add_text(at, tool.name);
      if (name == "parameters") return parameters_of(at, tool);
      if (name != "arguments") return add_own_place(nfa_, name, at);
      const uint32_t after = nfa_.add_node();
      nfa_.add_call(at, arguments_rule(tool), after);
      return after;
    });
  }
  /// Rule of a tool's parameters, charged to the tool; equal parameters share a rule.
  uint32_t parameters_of(uint32_t from, const OfferedTool& tool) {
    const bool some = tool.parameters.is(Kind::Dict);
    const std::string key = some ? json_of(tool.parameters) : "";
    const auto known = parameters_.find(key);
    const uint32_t rule = known != parameters_.end() ? known->second : nfa_.add_rule("");
    if (known == parameters_.end()) {
      nfa_.add_epsilon(parameters(nfa_.rule(rule).start, tool), nfa_.rule(rule).final);
      parameters_.emplace(key, rule);
    }
    const uint32_t after = nfa_.add_node();
    nfa_.add_call(from, rule, after);
    return after;
  }

  uint32_t parameters(uint32_t from, const OfferedTool& tool) {
    const CallShape& calls = *shape_.calls;
    if (!calls.quote.empty()) {
      BareJson values(nfa_, spelled(calls.quote), kHighestTextByte, tool.parameters,
                      [&](const std::string& schema) {
                        return schema_rule(fmt::format("tool {}", quoted(tool.name)), schema);
                      });
      return values.members(from, tool.parameters);
    }
    KindReader kinds(tool.parameters);
    return add_parameters(nfa_, from, tool.parameters, spelled(calls.parameter_separator),
                          [&](uint32_t at, std::string_view key, const Value& schema) {
                            return parameter(at, tool, kinds, key, schema);
                          });
  }

  /// Text up to and including the first tag that follows it.
  uint32_t any_text(uint32_t from, std::string_view& rest) {
    rest = without_space_before(rest);
    const std::string tag = first_tag(rest);
    rest.remove_prefix(tag.size());
    const uint32_t after = nfa_.add_node();
    nfa_.add_call(from, free_text_rule(nfa_, spelled(tag), kHighestTextByte, texts_), after);
    return after;
  }
  [[nodiscard]] std::string first_tag(std::string_view rest) const {
    rest = without_space_before(rest);
    for (const std::string& mark : marks_) {
      if (rest.starts_with(mark)) return mark;
    }
    return std::string(rest.substr(0, std::min(rest.find('>'), rest.size() - 1) + 1));
  }

  uint32_t parameter(uint32_t from, const OfferedTool& tool, KindReader& kinds_within,
                     std::string_view key, const Value& given) {
    const bool odd = key.empty() || key.find_first_of("\"\\<>{}()=, \n\r\t") != key.npos;
    if (odd) {
      fail(Code::Argument, "conversation: tool {} has a parameter with the name {}",
           quoted(tool.name), quoted(key));
    }
    const Value& schema = resolved_schema(given, tool.parameters);
    const JsonKinds kinds = kinds_within.of(schema);
    const bool is_text = !shape_.calls->json_strings && (kinds & kStringKind) != 0;
    return filled(from, shape_.calls->parameter,
                  [&](std::string_view name, uint32_t at, std::string_view& rest) {
                    if (name == "key") return nfa_.add_text(at, key);
                    if (name == "type") return literal(at, is_text ? "true" : "false");
                    if (name == "kind") return kind(at, is_text ? kStringKind : kinds);
                    if (!is_text) return json_value(at, tool, key, schema);
                    return text_value(at, schema, kinds, rest);
                  });
  }

  /// Name of one of these kinds.
  uint32_t kind(uint32_t from, JsonKinds kinds) {
    constexpr std::array<std::pair<std::string_view, JsonKinds>, 6> kNames{
        {{"string", kStringKind},
         {"number", kIntegerKind | kFractionKind},
         {"boolean", kBooleanKind},
         {"null", kNullKind},
         {"array", kListKind},
         {"object", kObjectKind}}};
    const uint32_t after = nfa_.add_node();
    for (const auto& [name, kind] : kNames) {
      if ((kinds & kind) != 0) nfa_.add_epsilon(nfa_.add_text(from, name), after);
    }
    return after;
  }

  uint32_t json_value(uint32_t from, const OfferedTool& tool, std::string_view key,
                      const Value& schema) {
    // A parameter's references resolve in the whole schema.
    std::vector<std::pair<Value, Value>> entries = schema.entries().entries;
    for (const auto& [name, value] : tool.parameters.entries().entries) {
      if (text_of(&name) == "$defs" || text_of(&name) == "definitions") {
        entries.emplace_back(name, value);
      }
    }
    const uint32_t rule =
        schema_rule(fmt::format("tool {}, parameter {}", quoted(tool.name), quoted(key)),
                    json_of(Value::dict(std::move(entries))));
    const uint32_t after = nfa_.add_node();
    nfa_.add_call(from, rule, after);
    return after;
  }

  /// Writes a value that may be a string, without quotes.
  uint32_t text_value(uint32_t from, const Value& schema, JsonKinds kinds, std::string_view& rest) {
    std::vector<const Value*> choices;
    if (const Value* given = member_of(schema, "enum"); given && given->is(Kind::List)) {
      for (const Value& choice : given->items().values) choices.push_back(&choice);
    } else if (const Value* only = member_of(schema, "const")) {
      choices.push_back(only);
    }
    if (!choices.empty()) {
      const uint32_t after = nfa_.add_node();
      for (const Value* choice : choices) {
        const bool is_text = choice->is(Kind::String);
        if (!is_text && tells_types()) continue;
        const std::string text = is_text ? std::string(text_of(choice)) : json_of(*choice);
        nfa_.add_epsilon(nfa_.add_text(from, text), after);
      }
      return after;
    }
    // An ambiguous value is written as a string: text that looks like a list or an object need not
    // obey the schema.
    const bool ambiguous = kinds != kAnyKind && (kinds & (kListKind | kObjectKind)) != 0;
    if (ambiguous && !tells_types()) {
      const uint32_t begun = nfa_.add_node();
      const std::string begins_otherwise = "{[ \t\n\v\f\r" + first_tag(rest).substr(0, 1);
      for (uint32_t byte = 0; byte <= kHighestTextByte; ++byte) {
        const auto one = static_cast<uint8_t>(byte);
        const bool other = begins_otherwise.find(static_cast<char>(one)) != std::string::npos;
        if (!other) nfa_.add_bytes(from, one, one, begun);
      }
      from = begun;
    }
    return any_text(from, rest);
  }
  /// True if a parameter's tag tells strings from other values.
  [[nodiscard]] bool tells_types() const {
    const std::string_view parameter = shape_.calls->parameter;
    return parameter.find("$type") != parameter.npos || parameter.find("$kind") != parameter.npos;
  }

  Nfa& nfa_;
  const AnswerShape& shape_;
  const AnswerRules& rules_;
  std::span<const std::string> marks_;
  grammar::KeptParts& parts_;
  std::map<std::string, uint32_t> parameters_;  ///< rules by schema
  std::map<std::string, uint32_t> schemas_;
  std::map<std::string, uint32_t> texts_;  ///< rules by the tag that follows
  std::map<std::string, uint32_t> names_;  ///< nodes by the rest of the call after the name
  std::optional<uint32_t> after_call_;
};

}  // namespace

std::string json_of(const Value& value) {
  const jinja::Limits limits;  // a budget refers to its limits
  jinja::Budget budget(limits);
  try {
    return std::string(jinja::to_json(value, {}, budget).view());
  } catch (const jinja::Failure& failure) {
    fail(Code::Limit, "conversation: {}", failure.what());
  }
}

std::vector<std::string> marks_of(const ChatFormat& format, const Tokenizer& tokenizer) {
  std::vector<std::string> marks;
  const std::vector<std::string_view> texts = texts_of(format);
  for (size_t i = 0; i < tokenizer.size() && marks.size() < grammar::kMaxMarks; ++i) {
    const auto token = static_cast<Token>(i);
    if (!tokenizer.is_control(token)) continue;
    const std::string_view spelling = tokenizer.spelling(token);
    const bool used = spelling.size() > 1 &&
                      std::any_of(texts.begin(), texts.end(), [spelling](std::string_view text) {
                        return text.find(spelling) != text.npos;
                      });
    if (used) marks.emplace_back(spelling);
  }
  return marks;
}

AnswerBegin begin_of_answer(const ChatFormat& format, std::string_view template_source,
                            std::string_view prompt) {
  const std::string_view open = trimmed(format.think.open), close = trimmed(format.think.close);
  if (open.empty()) return AnswerBegin::Content;
  const std::string_view end = without_space_after(prompt);
  if (end.ends_with(open)) return AnswerBegin::Reasoning;
  if (end.ends_with(close)) return AnswerBegin::Content;
  // A format with a layout of its own always has the marks, however its template spells them.
  const bool may = format.make_layout != nullptr || template_source.find(open) != open.npos;
  return may ? AnswerBegin::MayReason : AnswerBegin::Content;
}

const CallShape* call_shape_of(const ChatFormat& format, std::string_view template_source) {
  for (const CallShape& shape : format.shapes) {
    if (shape.call.empty()) continue;
    if (template_source.find(shape.when) != template_source.npos) return &shape;
  }
  return nullptr;
}

std::shared_ptr<const Grammar> answer_grammar(const AnswerShape& shape, const AnswerRules& rules,
                                              std::vector<std::string> marks,
                                              grammar::KeptParts& parts, WorkWatch* watch) {
  const std::vector<std::string> known = marks;
  return Grammar::written_by(
      [&](Nfa& nfa) { AnswerWriter(nfa, shape, rules, known, parts).write(); }, std::move(marks),
      watch);
}

}  // namespace tenon
