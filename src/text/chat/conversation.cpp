#include "text/chat/conversation.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/utf8.h"
#include "text/chat/generic_tools.h"
#include "text/chat/parameter_kinds.h"
#include "text/template/jinja_strftime.h"
#include "text/template/json_values.h"

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Text;
using jinja::Value;
using Entries = std::vector<std::pair<Value, Value>>;

// Templates use a few dozen.
constexpr size_t kMaxVariables = 1000;

std::string_view text_at(const Value& object, std::string_view key) {
  const Value* found = object.is(Kind::Dict) ? object.entries().find(key) : nullptr;
  return found != nullptr && found->is(Kind::String) ? found->text().view() : std::string_view();
}

const Value* member(const Value* object, std::string_view key) {
  return object != nullptr && object->is(Kind::Dict) ? object->entries().find(key) : nullptr;
}

/// Copy of the dict with another value for a key.
Value with(const Value& dict, std::string_view key, const Value& value) {
  Entries entries = dict.entries().entries;
  const auto known = std::find_if(entries.begin(), entries.end(), [key](const auto& entry) {
    return entry.first.is(Kind::String) && entry.first.text().view() == key;
  });
  if (known != entries.end())
    known->second = value;
  else
    entries.emplace_back(Value::string(Text(std::string(key))), value);
  return Value::dict(std::move(entries));
}

/// Call whose arguments are a text but no JSON object, as models may write them.
Value with_unread_arguments(const Value& call, const Value& function, const Value& text,
                            const ConversationForm& form) {
  if (!form.wrap_arguments) return call;
  Value wrapped = Value::dict({{Value::string(Text("arguments")), text}});
  return with(call, "function", with(function, "arguments", wrapped));
}

Value with_parsed_arguments(const Value& calls, const ConversationForm& form) {
  std::vector<Value> out;
  for (const Value& call : calls.items().values) {
    const Value* function = member(&call, "function");
    const Value* arguments = member(function, "arguments");
    if (arguments == nullptr || !arguments->is(Kind::String)) {
      out.push_back(call);
      continue;
    }
    try {
      const Value parsed = jinja::value_from_json(arguments->text().view(), "arguments");
      const bool is_object = parsed.is(Kind::Dict);
      out.push_back(is_object ? with(call, "function", with(*function, "arguments", parsed))
                              : with_unread_arguments(call, *function, *arguments, form));
    } catch (const Error&) {
      out.push_back(with_unread_arguments(call, *function, *arguments, form));
    }
  }
  return Value::sequence(Kind::List, std::move(out));
}

Value adapted(const Value& message, const ConversationForm& form) {
  Value out = message;
  const Value* content = member(&message, "content");
  if (form.join_parts && content != nullptr) {
    if (const std::optional<Value> text = joined_parts(*content)) out = with(out, "content", *text);
  }
  const Value* calls = member(&message, "tool_calls");
  const bool has_content = content != nullptr && !content->is(Kind::None);
  if (form.fill_content && !has_content && calls != nullptr && calls->is(Kind::List)) {
    out = with(out, "content", Value::string(Text()));
  }
  if (form.parse_arguments && calls != nullptr && calls->is(Kind::List)) {
    out = with(out, "tool_calls", with_parsed_arguments(*calls, form));
  }
  return out;
}

Value checked_messages(const Value& messages, const ConversationForm& form) {
  if (!messages.is(Kind::List)) fail(Code::Argument, "conversation: \"messages\" is no list");
  std::vector<Value> out;
  for (const Value& message : messages.items().values) {
    if (!message.is(Kind::Dict)) {
      fail(Code::Argument, "conversation: message {} is no object", out.size());
    }
    if (text_at(message, "role").empty()) {
      fail(Code::Argument, "conversation: message {} has no \"role\"", out.size());
    }
    out.push_back(adapted(message, form));
  }
  return Value::sequence(Kind::List, std::move(out));
}

/// Indices of the messages that begin turns.
std::vector<size_t> turns_of(const Value& messages) {
  std::vector<size_t> turns;
  const std::vector<Value>& all = messages.items().values;
  for (size_t i = 0; i < all.size(); ++i) {
    if (text_at(all[i], "role") == "user") turns.push_back(i);
  }
  return turns;
}

/// Messages without the `count` oldest turns; keeps messages before the first turn.
Value without_oldest(const Value& messages, const std::vector<size_t>& turns, size_t count) {
  if (count == 0 || turns.size() < 2) return messages;
  const std::vector<Value>& all = messages.items().values;
  const size_t first_kept = turns[std::min(count, turns.size() - 1)];
  std::vector<Value> kept(all.begin(), all.begin() + static_cast<ptrdiff_t>(turns.front()));
  kept.insert(kept.end(), all.begin() + static_cast<ptrdiff_t>(first_kept), all.end());
  return Value::sequence(Kind::List, std::move(kept));
}

size_t count_calls(const Value& messages) {
  size_t count = 0;
  for (const Value& message : messages.items().values) {
    const Value* calls = member(&message, "tool_calls");
    if (calls != nullptr && calls->is(Kind::List)) count += calls->items().values.size();
  }
  return count;
}

const Value* function_of(const Value& tool) {
  const Value* function = member(&tool, "function");
  return function != nullptr ? function : &tool;
}

/// Tools that the choice allows.
Value chosen_tools(const Value& tools, const Value* choice) {
  if (choice == nullptr || choice->is(Kind::None)) return tools;
  if (choice->is(Kind::String)) {
    const std::string_view word = choice->text().view();
    if (word == "none") return Value::sequence(Kind::List, {});
    if (word == "auto" || word == "required") return tools;
    fail(Code::Argument, "conversation: \"tool_choice\" is {}, not auto, none, required or a tool",
         quoted(word));
  }
  const std::string_view name = text_at(*function_of(*choice), "name");
  std::vector<Value> out;
  for (const Value& tool : tools.items().values) {
    if (!name.empty() && text_at(*function_of(tool), "name") == name) out.push_back(tool);
  }
  if (out.empty()) {
    fail(Code::Argument, "conversation: \"tool_choice\" names {}, which is none of the tools",
         quoted(name));
  }
  return Value::sequence(Kind::List, std::move(out));
}

/// Kinds of a schema's nested values, by path.
class NestedKinds {
 public:
  using Kinds = std::map<std::string, JsonKinds, std::less<>>;
  NestedKinds(const Value& whole, Kinds& kinds) : whole_(whole), reader_(whole), kinds_(kinds) {}

  void add(const Value& given, const std::string& path, int depth) {
    const Value& schema = resolved_schema(given, whole_);
    const Value* properties = member(&schema, "properties");
    if (properties != nullptr && properties->is(Kind::Dict)) {
      for (const auto& [name, value] : properties->entries().entries) {
        if (!add_one(path, name.text().view(), value, depth)) return;
      }
    }
    const Value* items = member(&schema, "items");
    if (items != nullptr && items->is(Kind::Dict)) add_one(path, "item", *items, depth);
  }

 private:
  // Deeper values may be of any kind.
  static constexpr int kMaxDepth = 5;
  static constexpr size_t kMostKinds = 1000;
  static constexpr size_t kMostPathBytes = 1024;

  /// Returns false beyond the limit on their number.
  bool add_one(const std::string& path, std::string_view name, const Value& schema, int depth) {
    if (kinds_.size() >= kMostKinds) return false;
    if (path.size() + name.size() > kMostPathBytes) return true;
    std::string own = path.empty() ? std::string(name) : path + kPathSeparator;
    if (!path.empty()) own += name;
    kinds_[own] = reader_.of(schema);
    if (depth < kMaxDepth) add(schema, own, depth + 1);
    return true;
  }

  const Value& whole_;
  KindReader reader_;
  Kinds& kinds_;
};

ToolTypes types_of(const Value& tools) {
  ToolTypes types;
  for (const Value& tool : tools.items().values) {
    const Value* function = function_of(tool);
    auto& of_tool = types.kinds[std::string(text_at(*function, "name"))];
    const Value* parameters = member(function, "parameters");
    if (parameters != nullptr) NestedKinds(*parameters, of_tool).add(*parameters, "", 0);
  }
  return types;
}

std::vector<OfferedTool> offered(const Value& tools) {
  std::vector<OfferedTool> out;
  for (const Value& tool : tools.items().values) {
    const Value* function = function_of(tool);
    const Value* parameters = member(function, "parameters");
    out.push_back(
        {std::string(text_at(*function, "name")), parameters != nullptr ? *parameters : Value()});
  }
  return out;
}

/// Accepts {"type": "json_schema", "json_schema": {"schema": {...}}}, "json_object" or "text".
std::optional<Value> schema_of(const Value& format) {
  if (format.is(Kind::None)) return std::nullopt;
  const std::string_view type = text_at(format, "type");
  if (type == "text") return std::nullopt;
  if (type == "json_object") {
    return jinja::value_from_json(R"({"type": "object"})", "response_format");
  }
  if (type != "json_schema") {
    fail(Code::Argument,
         "conversation: \"response_format\" has the type {}, not text, json_object or json_schema",
         quoted(type));
  }
  const Value* of_name = member(&format, "json_schema");
  const Value* schema = member(of_name != nullptr ? of_name : &format, "schema");
  if (schema == nullptr) {
    fail(Code::Argument, "conversation: \"response_format\" has no \"schema\"");
  }
  return *schema;
}

jinja::CalendarTime time_of(const Value& now) {
  if (!now.is(Kind::String)) fail(Code::Argument, "conversation: \"now\" is no text");
  const auto time = jinja::parse_time(now.text().view());
  if (!time) {
    fail(Code::Argument, "conversation: \"now\" is {}, not a time like 2026-01-02T03:04:05",
         quoted(now.text().view()));
  }
  return *time;
}

/// Names of tokens come from the model, even if a user repeats them.
bool is_token_name(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"bos_token", "eos_token", "unk_token",
                                                   "pad_token"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool has_items(const Value* list) {
  return list != nullptr && list->is(Kind::List) && !list->items().values.empty();
}

/// Last message to continue; empty if it has no text.
std::optional<ContinuedTurn> continued_turn(const Value& messages) {
  const std::vector<Value>& all = messages.items().values;
  if (all.empty() || text_at(all.back(), "role") != "assistant") {
    fail(Code::Argument,
         "conversation: \"continue_final_message\": the last message is not the assistant's");
  }
  const Value& last = all.back();
  if (has_items(member(&last, "tool_calls"))) {
    fail(Code::Argument, "conversation: \"continue_final_message\": a call is not continued");
  }
  for (const char* key : {"content", "reasoning_content"}) {
    const Value* value = member(&last, key);
    if (value == nullptr) continue;
    const std::optional<Value> text = value->is(Kind::String) ? *value : joined_parts(*value);
    if (text && !text->text().empty()) {
      return ContinuedTurn{key, text->text(), std::string_view(key) != "content"};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Value> joined_parts(const Value& content) {
  if (!content.is(Kind::List)) return std::nullopt;
  Text out;
  for (const Value& part : content.items().values) {
    const Value* text = member(&part, "text");
    if (text_at(part, "type") != "text" || text == nullptr || !text->is(Kind::String)) {
      return std::nullopt;
    }
    if (!out.empty()) out.append("\n", false);
    out.append(text->text());
  }
  return Value::string(std::move(out));
}

Value parse_conversation(std::string_view json) {
  Value given = jinja::value_from_json(json, "conversation");
  if (!given.is(Kind::Dict)) fail(Code::Argument, "conversation: no JSON object");
  return given;
}

bool uses_tools(const Value& given) {
  const Value* choice = member(&given, "tool_choice");
  const bool sees_none =
      choice != nullptr && choice->is(Kind::String) && choice->text().view() == "none";
  if (!sees_none && has_items(member(&given, "tools"))) return true;
  const Value* messages = member(&given, "messages");
  if (messages == nullptr || !messages->is(Kind::List)) return false;
  const std::vector<Value>& all = messages->items().values;
  return std::any_of(all.begin(), all.end(), [](const Value& message) {
    return text_at(message, "role") == "tool" || has_items(member(&message, "tool_calls"));
  });
}

Value without_last(const Value& messages) {
  std::vector<Value> rest = messages.items().values;
  rest.pop_back();
  return Value::sequence(Kind::List, std::move(rest));
}

Value with_last_text(const Value& messages, const ContinuedTurn& turn, std::string_view mark) {
  std::vector<Value> all = messages.items().values;
  Text text = turn.text;
  text.append(mark, true);
  all.back() = with(all.back(), turn.key, Value::string(std::move(text)));
  return Value::sequence(Kind::List, std::move(all));
}

Conversation read_conversation(const Value& given, const ConversationForm& form) {
  const Value* messages = member(&given, "messages");
  if (messages == nullptr) fail(Code::Argument, "conversation: \"messages\" is missing");

  Conversation out;
  const auto set = [&out](std::string_view name, Value value) {
    out.variables.insert_or_assign(std::string(name), std::move(value));
    if (out.variables.size() <= kMaxVariables) return;
    fail(Code::Limit, "conversation: more than {} members and variables", kMaxVariables);
  };
  set("add_generation_prompt", Value::boolean(true));
  const Value whole = checked_messages(*messages, form);
  const std::vector<size_t> turns = turns_of(whole);
  out.num_turns = turns.size();
  Value checked = without_oldest(whole, turns, form.dropped_turns);
  out.num_calls = count_calls(checked);
  const Value* choice = member(&given, "tool_choice");
  Value shown_tools = Value::sequence(Kind::List, {});
  for (const auto& [key, value] : given.entries().entries) {
    const std::string_view name = key.text().view();
    if (name == "messages") continue;
    if (name == "continue_final_message") {
      if (value.is(Kind::Bool) && value.as_integer() != 0) out.continued = continued_turn(checked);
      if (value.is(Kind::Bool) && value.as_integer() != 0 && !out.continued) {
        checked = without_last(checked);
      }
    } else if (name == "now") {
      if (!value.is(Kind::None)) out.now = time_of(value);
    } else if (name == "tools") {
      if (value.is(Kind::None)) continue;
      if (!value.is(Kind::List)) fail(Code::Argument, "conversation: \"tools\" is no list");
      const Value tools = chosen_tools(value, choice);
      out.has_tools = !tools.items().values.empty();
      out.rules.forbids_calls = !out.has_tools && has_items(&value);
      shown_tools = tools;
      out.types = types_of(tools);
      out.rules.tools = offered(tools);
      const bool may_choose = choice == nullptr || choice->is(Kind::None) ||
                              (choice->is(Kind::String) && choice->text().view() == "auto");
      if (out.has_tools) {
        out.rules.calls = may_choose ? AnswerRules::Calls::Allowed : AnswerRules::Calls::Required;
      }
      if (form.tell_tools) continue;
      if (out.has_tools || choice == nullptr) set("tools", tools);
    } else if (name == "response_format") {
      out.rules.schema = schema_of(value);
    } else if (name == "variables" && value.is(Kind::Dict)) {
      for (const auto& [variable, held] : value.entries().entries) {
        set(variable.text().view(), held);
      }
    } else if (is_token_name(name) && value.is(Kind::String)) {
      set(name, Value::string(Text(value.text().bytes())));
    } else {
      if (name == "parallel_tool_calls" && value.is(Kind::Bool)) {
        out.rules.parallel_calls = value.as_integer() != 0;
      }
      set(name, value);
    }
  }
  if (form.tell_tools) checked = with_told_tools(checked, shown_tools, form.shows_system);
  set("messages", std::move(checked));
  return out;
}

}  // namespace tenon
