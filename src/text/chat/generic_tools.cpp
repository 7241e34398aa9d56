#include "text/chat/generic_tools.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat/answer_grammar.h"
#include "text/chat/conversation.h"

namespace tenon {
namespace {

using jinja::Kind;
using jinja::Text;
using jinja::Value;

const Value* member(const Value& object, std::string_view key) {
  return object.is(Kind::Dict) ? object.entries().find(key) : nullptr;
}

std::string_view role_of(const Value& message) {
  const Value* role = member(message, "role");
  return role != nullptr && role->is(Kind::String) ? role->text().view() : std::string_view();
}

Text content_of(const Value& message) {
  const Value* content = member(message, "content");
  if (content == nullptr || content->is(Kind::None)) return {};
  if (content->is(Kind::String)) return content->text();
  if (const std::optional<Value> text = joined_parts(*content)) return text->text();
  return Text(json_of(*content), true);
}

Value message_of(std::string_view role, Text content) {
  return Value::dict({{Value::string(Text("role")), Value::string(Text(std::string(role)))},
                      {Value::string(Text("content")), Value::string(std::move(content))}});
}

/// Copy of a message with new content and without calls.
Value with_content(const Value& message, Text content) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, value] : message.entries().entries) {
    const bool is_replaced = key.is(Kind::String) &&
                             (key.text().view() == "tool_calls" || key.text().view() == "content");
    if (!is_replaced) entries.emplace_back(key, value);
  }
  entries.emplace_back(Value::string(Text("content")), Value::string(std::move(content)));
  return Value::dict(std::move(entries));
}

/// Describes the tools in the wording of Qwen 2.5's template.
Text told(const Value& tools) {
  Text out(
      "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
      "You are provided with function signatures within <tools></tools> XML tags:\n<tools>");
  for (const Value& tool : tools.items().values) {
    out.append("\n", false);
    out.append(json_of(tool), true);
  }
  out.append(
      "\n</tools>\n\nFor each function call, return a json object with function name and arguments "
      "within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": <function-name>, "
      "\"arguments\": <args-json-object>}\n</tool_call>",
      false);
  return out;
}

void append_call(const Value& call, Text& out) {
  const Value* holder = member(call, "function");
  const Value& function = holder != nullptr ? *holder : call;
  const Value* name = member(function, "name");
  const Value* arguments = member(function, "arguments");
  if (!out.empty()) out.append("\n", false);
  out.append("<tool_call>\n{\"name\": ", false);
  out.append(name != nullptr ? json_of(*name) : R"("")", true);
  out.append(", \"arguments\": ", false);
  if (arguments == nullptr) {
    out.append("{}", false);
  } else if (arguments->is(Kind::String)) {
    out.append(arguments->text());
  } else {
    out.append(json_of(*arguments), true);
  }
  out.append("}\n</tool_call>", false);
}

class Teller {
 public:
  void add(const Value& message) {
    const std::string_view role = role_of(message);
    if (role == "tool" || role == "function" || role == "ipython" || role == "tool_response") {
      return add_result(content_of(message));
    }
    const Value* calls = member(message, "tool_calls");
    if (role == "user" && has_results_) {
      // Many templates require alternating roles.
      return append_to_last(content_of(message));
    }
    has_results_ = false;
    if (calls == nullptr || !calls->is(Kind::List)) {
      out_.push_back(message);
      return;
    }
    Text content = content_of(message);
    for (const Value& call : calls->items().values) append_call(call, content);
    out_.push_back(with_content(message, std::move(content)));
  }

  std::vector<Value> take() { return std::move(out_); }

 private:
  void add_result(const Text& content) {
    Text result("<tool_response>\n");
    result.append(content);
    result.append("\n</tool_response>", false);
    if (has_results_) return append_to_last(result);
    out_.push_back(message_of("user", std::move(result)));
    has_results_ = true;
  }

  void append_to_last(const Text& more) {
    Text content = content_of(out_.back());
    content.append("\n", false);
    content.append(more);
    out_.back() = with_content(out_.back(), std::move(content));
  }

  std::vector<Value> out_;
  bool has_results_ = false;  ///< the last message is a user message with results
};

/// Prepends or appends a text to the content of a role's first message; false if the role has none.
bool add_to_first(std::vector<Value>& messages, std::string_view role, const Text& text,
                  bool before) {
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [role](const Value& each) { return role_of(each) == role; });
  if (found == messages.end()) return false;
  const Text content = content_of(*found);
  Text whole = before ? text : content;
  if (!content.empty()) whole.append("\n\n", false);
  whole.append(before ? content : text);
  *found = with_content(*found, std::move(whole));
  return true;
}

}  // namespace

Value with_told_tools(const Value& messages, const Value& tools, bool shows_system) {
  Teller teller;
  for (const Value& message : messages.items().values) teller.add(message);
  std::vector<Value> out = teller.take();
  if (tools.is(Kind::List) && !tools.items().values.empty()) {
    const Text text = told(tools);
    if (shows_system) {
      const bool has_system = !out.empty() && role_of(out.front()) == "system" &&
                              add_to_first(out, "system", text, false);
      if (!has_system) out.insert(out.begin(), message_of("system", text));
    } else if (!add_to_first(out, "user", text, true)) {
      out.insert(out.begin(), message_of("user", text));
    }
  }
  return Value::sequence(Kind::List, std::move(out));
}

}  // namespace tenon
