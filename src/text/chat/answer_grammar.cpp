#include "text/chat/answer_grammar.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat/free_text.h"
#include "text/grammar/control_bytes.h"
#include "text/grammar/schema.h"
#include "text/template/jinja_format.h"

namespace tenon {
namespace {

using grammar::Net;
using jinja::Kind;
using jinja::Value;

// Strings that a format writes without quotes hold text only; answers may hold control tokens.
constexpr uint8_t kHighestTextByte = grammar::kFirstMarkByte - 1;
constexpr uint8_t kHighestByte = 0xFF;
// Between reasoning and what comes then.
constexpr size_t kMostSpace = 4;

const Value* member_of(const Value& object, std::string_view key) {
  return object.is(Kind::Dict) ? object.entries().find(key) : nullptr;
}

std::string_view text_of(const Value* value) {
  return value != nullptr && value->is(Kind::String) ? value->text().view() : std::string_view();
}

std::vector<std::string_view> texts_of(const ChatFormat& format) {
  std::vector<std::string_view> texts{format.think.open, format.think.close, format.content_open};
  for (const CallShape& shape : format.shapes) {
    texts.insert(texts.end(), {shape.call, shape.trigger, shape.open, shape.separator, shape.close,
                               shape.parameter, shape.parameter_separator, shape.quote});
  }
  return texts;
}

/// A schema for the arguments of a tool, which are an object whatever it says.
std::string arguments_schema(const Value& parameters) {
  if (!parameters.is(Kind::Dict)) return R"({"type": "object"})";
  if (member_of(parameters, "type") != nullptr) return json_of(parameters);
  std::vector<std::pair<Value, Value>> entries = parameters.entries().entries;
  entries.emplace_back(Value::string(jinja::Text("type")), Value::string(jinja::Text("object")));
  return json_of(Value::dict(std::move(entries)));
}

class AnswerWriter {
 public:
  AnswerWriter(Net& net, const AnswerShape& shape, const AnswerRules& rules,
               std::span<const std::string> marks)
      : net_(net), shape_(shape), rules_(rules), marks_(marks) {}

  void write() {
    const uint32_t start = net_.rule(0).start, final = net_.rule(0).final;
    const ThinkMarks& think = shape_.format.think;
    if (rules_.schema || rules_.calls == AnswerRules::Calls::Required) {
      uint32_t content = net_.add_node();
      if (shape_.begin != AnswerBegin::Reasoning) net_.add_epsilon(start, content);
      if (shape_.begin != AnswerBegin::Content) {
        const bool opened = shape_.begin == AnswerBegin::Reasoning;
        const std::array stops{FreeTextStop{spelled(think.close), content}};
        const uint32_t inside = opened ? start : literal(start, think.open);
        add_free_text(net_, inside, stops, kHighestByte);
        content = space(content);
      }
      if (rules_.schema) {
        net_.add_call(literal(content, shape_.format.content_open),
                      schema_rule("response_format", json_of(*rules_.schema)), final);
      }
      if (rules_.calls != AnswerRules::Calls::None) calls(content, 0, final);
      return;
    }
    // Free text, which may end anywhere, until a call begins.
    const uint32_t called = net_.add_node();
    const FreeTextStop trigger{spelled(shape_.calls->trigger), called, shape_.calls->only_at_start};
    calls(called, behind_trigger(), final);
    if (shape_.begin == AnswerBegin::Content) {
      add_free_text(net_, start, std::array{trigger}, kHighestByte, final);
      return;
    }
    const uint32_t inside = shape_.begin == AnswerBegin::Reasoning ? start : net_.add_node();
    const uint32_t content = net_.add_node();
    const FreeTextStop closed{spelled(think.close), content};
    add_free_text(net_, inside, std::array{closed}, kHighestByte, final);
    add_free_text(net_, content, std::array{trigger}, kHighestByte, final);
    if (shape_.begin == AnswerBegin::Reasoning) return;
    const FreeTextStop opened{spelled(without_space_behind(think.open)), inside, true};
    add_free_text(net_, start, std::array{opened, trigger}, kHighestByte, final);
  }

 private:
  /// Writes what stands at a place; `rest` is the text behind it, of which it may take a part
  /// along.
  using Place =
      std::function<uint32_t(std::string_view name, uint32_t from, std::string_view& rest)>;

  /// A text as the network has it: control tokens are a byte each.
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
    return text.empty() ? from : net_.add_text(from, spelled(text));
  }
  uint32_t space(uint32_t from) {
    for (size_t i = 0; i < kMostSpace; ++i) {
      const uint32_t next = net_.add_node();
      for (const char c : {' ', '\n'}) {
        net_.add_bytes(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), next);
      }
      net_.add_epsilon(from, next);
      from = next;
    }
    return from;
  }

  /// A text with places.
  uint32_t filled(uint32_t from, std::string_view text, const Place& fill) {
    for (;;) {
      const size_t dollar = text.find('$');
      from = literal(from, text.substr(0, dollar));
      if (dollar == text.npos) return from;
      size_t end = dollar + 1;
      while (end < text.size() && text[end] >= 'a' && text[end] <= 'z') ++end;
      const std::string_view name = text.substr(dollar + 1, end - dollar - 1);
      text.remove_prefix(end);
      from = fill(name, from, text);
    }
  }

  uint32_t schema_rule(const std::string& whose, const std::string& schema) {
    try {
      return grammar::add_schema(schema, net_);
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", whose, error.what());
    }
  }

  /// Bytes of open and call that stand before what follows the trigger.
  [[nodiscard]] size_t behind_trigger() const {
    const std::string before = std::string(shape_.calls->open) + std::string(shape_.calls->call);
    return before.find(shape_.calls->trigger) + shape_.calls->trigger.size();
  }

  /// The calls behind `from`, without their first `skipped` bytes.
  void calls(uint32_t from, size_t skipped, uint32_t final) {
    const CallShape& calls = *shape_.calls;
    const uint32_t next = net_.add_node(), behind = net_.add_node();
    std::string_view first = calls.call;
    if (skipped <= calls.open.size()) {
      from = literal(from, calls.open.substr(skipped));
    } else {
      first.remove_prefix(skipped - calls.open.size());
    }
    for (const OfferedTool& tool : rules_.tools) {
      check_name(tool);
      const uint32_t arguments = calls.parameter.empty()
                                     ? schema_rule(fmt::format("tool {}", quoted(tool.name)),
                                                   arguments_schema(tool.parameters))
                                     : 0;
      net_.add_epsilon(call(from, first, tool, arguments), behind);
      if (!calls.single && rules_.parallel_calls) {
        net_.add_epsilon(call(next, calls.call, tool, arguments), behind);
      }
    }
    if (!calls.single && rules_.parallel_calls) {
      net_.add_epsilon(literal(behind, calls.separator), next);
    }
    net_.add_epsilon(literal(behind, calls.close), final);
  }

  static void check_name(const OfferedTool& tool) {
    const bool odd = tool.name.empty() || tool.name.size() > kMaxCallName ||
                     tool.name.find_first_of("\"\\<>{}\n\r\t") != std::string::npos;
    if (odd) fail(Code::Argument, "conversation: a tool has the name {}", quoted(tool.name));
  }

  uint32_t call(uint32_t from, std::string_view text, const OfferedTool& tool, uint32_t arguments) {
    return filled(from, text, [&](std::string_view name, uint32_t at, std::string_view& rest) {
      if (name == "name") return net_.add_text(at, tool.name);
      if (name == "number") return number(at);
      if (name == "parameters") return parameters(at, tool, rest);
      const uint32_t behind = net_.add_node();
      net_.add_call(at, arguments, behind);
      return behind;
    });
  }

  uint32_t number(uint32_t from) {
    const uint32_t behind = net_.add_node();
    net_.add_bytes(from, '0', '9', behind);
    const uint32_t second = net_.add_node();
    net_.add_bytes(from, '1', '9', second);
    net_.add_bytes(second, '0', '9', behind);
    return behind;
  }

  /// Parameters in the order of the schema, each at most once, the required ones always.
  uint32_t parameters(uint32_t from, const OfferedTool& tool, std::string_view& rest) {
    const CallShape& calls = *shape_.calls;
    const Value* properties = member_of(tool.parameters, "properties");
    if (properties == nullptr || !properties->is(Kind::Dict)) return from;
    const Value* required = member_of(tool.parameters, "required");
    const auto is_required = [&](std::string_view key) {
      if (required == nullptr || !required->is(Kind::List)) return false;
      const auto& names = required->items().values;
      return std::any_of(names.begin(), names.end(),
                         [&](const Value& name) { return text_of(&name) == key; });
    };
    if (!calls.quote.empty() && has_nested(*properties)) return any_text(from, rest);
    uint32_t none = from, some = net_.add_node();  // whether one was written already
    for (const auto& [key, schema] : properties->entries().entries) {
      const std::string_view name = key.text().view();
      const uint32_t begin = net_.add_node(), done = net_.add_node();
      net_.add_epsilon(none, begin);
      net_.add_epsilon(literal(some, calls.parameter_separator), begin);
      net_.add_epsilon(parameter(begin, tool, name, schema), done);
      if (is_required(name)) {
        none = net_.add_node();  // not reached
      } else {
        const uint32_t skipped = net_.add_node();
        net_.add_epsilon(none, skipped);
        net_.add_epsilon(some, done);
        none = skipped;
      }
      some = done;
    }
    net_.add_epsilon(none, some);
    return some;
  }

  /// Whether a parameter is a list or an object, which a format with quotes of its own writes in
  /// its own way.
  static bool has_nested(const Value& properties) {
    const auto& entries = properties.entries().entries;
    return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
      const std::string_view type = text_of(member_of(entry.second, "type"));
      constexpr std::array<std::string_view, 5> kScalars{"string", "number", "integer", "boolean",
                                                         "null"};
      return std::find(kScalars.begin(), kScalars.end(), type) == kScalars.end();
    });
  }

  /// Text up to the first tag behind it, which is taken along; or up to `quote`.
  uint32_t any_text(uint32_t from, std::string_view& rest, std::string_view quote = {}) {
    std::string_view tag = quote;
    if (quote.empty()) {
      rest = without_space_before(rest);
      tag = rest.substr(0, std::min(rest.find('>'), rest.size() - 1) + 1);
      rest.remove_prefix(tag.size());
    }
    const uint32_t behind = net_.add_node();
    add_free_text(net_, from, std::array{FreeTextStop{spelled(tag), behind}}, kHighestTextByte);
    return behind;
  }

  uint32_t parameter(uint32_t from, const OfferedTool& tool, std::string_view key,
                     const Value& schema) {
    const std::string_view type = text_of(member_of(schema, "type"));
    const bool is_text = type == "string" || type.empty();
    return filled(from, shape_.calls->parameter,
                  [&](std::string_view name, uint32_t at, std::string_view& rest) {
                    if (name == "key") return net_.add_text(at, key);
                    if (name == "type") return literal(at, is_text ? "true" : "false");
                    if (!is_text) return json_value(at, tool, key, schema);
                    return string_value(at, schema, rest);
                  });
  }

  uint32_t json_value(uint32_t from, const OfferedTool& tool, std::string_view key,
                      const Value& schema) {
    // References of a parameter name definitions of the whole.
    std::vector<std::pair<Value, Value>> entries = schema.entries().entries;
    for (const auto& [name, value] : tool.parameters.entries().entries) {
      if (text_of(&name) == "$defs" || text_of(&name) == "definitions") {
        entries.emplace_back(name, value);
      }
    }
    const uint32_t rule =
        schema_rule(fmt::format("tool {}, parameter {}", quoted(tool.name), quoted(key)),
                    json_of(Value::dict(std::move(entries))));
    const uint32_t behind = net_.add_node();
    net_.add_call(from, rule, behind);
    return behind;
  }

  uint32_t string_value(uint32_t from, const Value& schema, std::string_view& rest) {
    const std::string_view quote = shape_.calls->quote;
    std::vector<std::string_view> choices;
    if (const Value* given = member_of(schema, "enum"); given && given->is(Kind::List)) {
      for (const Value& choice : given->items().values) choices.push_back(text_of(&choice));
    } else if (const Value* only = member_of(schema, "const"); only && only->is(Kind::String)) {
      choices.push_back(text_of(only));
    }
    if (!choices.empty()) {
      const uint32_t behind = net_.add_node();
      for (const std::string_view choice : choices) {
        net_.add_epsilon(literal(net_.add_text(literal(from, quote), choice), quote), behind);
      }
      return behind;
    }
    return any_text(literal(from, quote), rest, quote);
  }

  Net& net_;
  const AnswerShape& shape_;
  const AnswerRules& rules_;
  std::span<const std::string> marks_;
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
  const std::string_view end = without_space_behind(prompt);
  if (end.ends_with(open)) return AnswerBegin::Reasoning;
  if (end.ends_with(close)) return AnswerBegin::Content;
  // A layout of its own always has the marks, however its template spells them.
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
                                              std::vector<std::string> marks) {
  const std::vector<std::string> known = marks;
  return Grammar::written_by([&](Net& net) { AnswerWriter(net, shape, rules, known).write(); },
                             std::move(marks));
}

}  // namespace tenon
