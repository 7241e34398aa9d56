#include "server/protocols/response_items.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "server/api_error.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/custom_tools.h"
#include "server/protocols/other_fields.h"

namespace tenon_http {
namespace {

/// Tools that run at OpenAI and that this server lacks; the model does not see them.
constexpr auto kHostedTools = std::to_array<std::string_view>(
    {"web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
     "tool_search", "file_search", "code_interpreter", "image_generation", "computer",
     "computer_use_preview", "mcp", "local_shell", "shell", "apply_patch",
     "programmatic_tool_calling"});

/// Items of such tools in the history.
constexpr auto kHostedItems = std::to_array<std::string_view>(
    {"web_search_call", "tool_search_call", "tool_search_output", "file_search_call",
     "code_interpreter_call", "image_generation_call", "computer_call", "computer_call_output",
     "mcp_list_tools", "mcp_call", "mcp_approval_request", "mcp_approval_response",
     "local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
     "apply_patch_call", "apply_patch_call_output"});

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// fields: source of the tool.
void add_tool(ResponseRequest& request, Json tool, const std::string& name_space, bool is_custom,
              const Fields& fields) {
  Json& name = tool["function"]["name"];
  ResponseTool entry{name.get<std::string>(), name.get<std::string>(), name_space, is_custom};
  const auto is_taken = [&] {
    return std::any_of(request.tools.begin(), request.tools.end(),
                       [&](const ResponseTool& other) { return other.name == entry.name; });
  };
  if (is_taken() && !name_space.empty()) entry.name = name_space + "__" + entry.name;
  if (is_taken()) return;  // listed twice: in a namespace and in the history
  name = entry.name;
  add_function(request.chat.tools, std::move(tool), fields, "parameters");
  if (entry.is_custom)
    // Its schema is a grammar, which is never lenient.
    request.chat.tools.lenient_fields.back().clear();
  request.tools.push_back(std::move(entry));
}

void read_custom(const Fields& tool, const std::string& name_space, ResponseRequest& request) {
  const std::optional<Fields> format = tool.object("format");
  const Fields* given = format ? &*format : nullptr;
  Json function = function_tool(tool, "parameters");
  function["function"]["parameters"] = custom_tool_schema(given, given);
  add_tool(request, std::move(function), name_space, true, tool);
}

void read_tool_list(const Json& tools, const std::string& path, const std::string& name_space,
                    ResponseRequest& request) {
  for (size_t i = 0; i < tools.size(); ++i) {
    const Fields tool(tools[i], item_path(path, i));
    if (request.tools.size() == kMaxTools) {
      throw invalid_request(path + ": there are more than 1024 tools", path);
    }
    const std::string& type = tool.required_text("type");
    if (type == "function") {
      add_tool(request, function_tool(tool, "parameters"), name_space, false, tool);
    } else if (type == "custom") {
      read_custom(tool, name_space, request);
    } else if (type == "namespace" && name_space.empty()) {
      const Json* inner = tool.list("tools");
      if (inner == nullptr) tool.refuse("tools", "is missing");
      read_tool_list(*inner, tool.path_of("tools"), tool.required_text("name"), request);
    } else if (is_one_of(kHostedTools, type)) {
      request.chat.notes.push_back(tool.path() + ": \"" + type +
                                   "\" does not run here; the model does not see it");
    } else {
      tool.refuse("type", "\"" + type + "\" is not served");
    }
  }
}

/// Builds the conversation item by item.
class ItemReader {
 public:
  explicit ItemReader(ResponseRequest& request) : request_(request) {}

  void read(const Fields& item) {
    const std::string* type = item.text("type");
    const std::string kind = type == nullptr ? "message" : *type;
    if (kind == "message") return read_message(item);
    if (kind == "function_call") {
      const Json* arguments = item.find("arguments");
      return add_call(
          item, arguments == nullptr
                    ? "{}"
                    : arguments_text(*arguments, item.path_of("arguments"), request_.chat.notes));
    }
    if (kind == "custom_tool_call") {
      return add_call(item, to_text({{"input", item.required_text("input")}}));
    }
    if (kind == "function_call_output" || kind == "custom_tool_call_output") {
      return add_result(item);
    }
    if (kind == "reasoning") return read_reasoning(item);
    if (kind == "additional_tools") {
      const Json* tools = item.list("tools");
      if (tools == nullptr) item.refuse("tools", "is missing");
      return read_tool_list(*tools, item.path_of("tools"), "", request_);
    }
    if (is_one_of(kHostedItems, kind)) {
      request_.chat.notes.push_back(item.path() + ": \"" + kind + "\" is not shown to the model");
      return;
    }
    item.refuse("type", "\"" + kind + "\" is no kind of item that is known here");
  }

 private:
  Json& messages() { return request_.chat.messages; }

  void read_message(const Fields& item) {
    const std::string& role = item.required_text("role");
    if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
      item.refuse("role", "\"" + role + "\" is no role");
    }
    Json message{{"role", role == "developer" ? "system" : role}};
    texts_of_content(item.required("content"), item.path_of("content")).take_into(message);
    if (role == "assistant") {
      take_thoughts(message);
    } else if (!thoughts_.empty()) {  // a turn of thoughts only
      messages().push_back({{"role", "assistant"}, {"content", ""}});
      take_thoughts(messages().back());
    }
    messages().push_back(std::move(message));
  }

  void add_call(const Fields& item, std::string arguments) {
    if (messages().empty() || messages().back()["role"] != "assistant") {
      messages().push_back({{"role", "assistant"}, {"content", ""}});
    }
    take_thoughts(messages().back());  // includes thoughts between a text and its call
    messages().back()["tool_calls"].push_back(
        {{"id", item.required_text("call_id")},
         {"type", "function"},
         {"function", {{"name", seen_name(item)}, {"arguments", std::move(arguments)}}}});
  }

  /// Name under which the model saw the tool.
  [[nodiscard]] std::string seen_name(const Fields& item) const {
    const std::string& name = item.required_text("name");
    const std::string* name_space = item.text("namespace");
    for (const ResponseTool& tool : request_.tools) {
      const bool same_space = name_space == nullptr || tool.name_space == *name_space;
      if (tool.shown_name == name && same_space) return tool.name;
    }
    return name;
  }

  void add_result(const Fields& item) {
    const Json& output = item.required("output");
    std::string text;
    if (output.is_array()) {
      JoinedTexts parts;
      for (size_t i = 0; i < output.size(); ++i) {
        const Fields part(output[i], item_path(item.path_of("output"), i));
        const std::string& type = part.required_text("type");
        // A sentence replaces unreadable parts, so that the agent can continue.
        parts.add(type == "input_text" || type == "output_text" || type == "text"
                      ? part.required_text("text")
                      : "[" + type + ": this model reads text only]");
      }
      text = parts.take();
    } else if (output.is_string()) {
      text = output.get<std::string>();
    } else {
      item.refuse("output", "must be a string or a list of parts");
    }
    messages().push_back({{"role", "tool"},
                          {"tool_call_id", item.required_text("call_id")},
                          {"content", std::move(text)}});
  }

  void read_reasoning(const Fields& item) {
    const size_t before = thoughts_.size();
    const std::string* encrypted = item.text("encrypted_content");
    for (const char* field : {"content", "summary"}) {
      const Json* parts = item.list(field);
      if (parts == nullptr || thoughts_.size() > before) continue;
      for (size_t i = 0; i < parts->size(); ++i) {
        const Fields part((*parts)[i], item_path(item.path_of(field), i));
        (void)part.text("type");
        thoughts_ += part.required_text("text");
      }
    }
    if (encrypted != nullptr && !encrypted->empty() && thoughts_.size() == before) {
      request_.chat.notes.push_back(item.path_of("encrypted_content") +
                                    ": is a thought of another server, which cannot be read");
    }
  }

  void take_thoughts(Json& message) {
    if (!thoughts_.empty()) {
      message["reasoning_content"] = message.value("reasoning_content", std::string()) + thoughts_;
    }
    thoughts_.clear();
  }

  ResponseRequest& request_;
  std::string thoughts_;  ///< thoughts of the assistant's next message
};

void read_text_format(const Fields& fields, ChatRequest& chat) {
  const std::optional<Fields> text = fields.object("text");
  if (!text) return;
  check_other_fields(*text, kTextFields, chat.notes);
  const std::optional<Fields> format = text->object("format");
  if (!format) return;
  chat.response_format = read_format(*format, chat.notes);
}

}  // namespace

void read_response_input(const Fields& fields, ResponseRequest& request) {
  request.chat.messages_field = "input";
  Json& messages = request.chat.messages;
  if (const std::string* instructions = fields.text("instructions")) {
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  Json& items = request.items;
  ItemReader reader(request);
  for (size_t i = 0; i < items.size(); ++i) {
    reader.read(Fields(items[i], item_path("previous_response_id", i)));
  }
  const Json& input = fields.required("input");
  if (input.is_string()) {
    items.push_back({{"type", "message"}, {"role", "user"}, {"content", input}});
    return reader.read(Fields(items.back(), "input"));
  }
  if (!input.is_array()) fields.refuse("input", "must be a string or a list of items");
  for (size_t i = 0; i < input.size(); ++i) {
    reader.read(Fields(input[i], item_path("input", i)));
    items.push_back(input[i]);
  }
  if (messages.empty()) fields.refuse("input", "must not be empty");
}

ResponseRequest read_response_request(const Fields& fields, Json earlier) {
  ResponseRequest request;
  check_other_fields(fields, kResponseFields, request.chat.notes);
  request.items = std::move(earlier);
  ChatRequest& chat = request.chat;
  chat.format_field = "text.format.schema";
  if (const Json* tools = fields.list("tools")) read_tool_list(*tools, "tools", "", request);
  read_response_input(fields, request);
  read_tool_choice(fields, chat.tools);
  chat.tools.is_parallel = fields.boolean("parallel_tool_calls").value_or(true);
  read_text_format(fields, chat);
  if (const std::optional<Fields> reasoning = fields.object("reasoning")) {
    check_other_fields(*reasoning, kReasoningFields, chat.notes);
    read_effort(*reasoning, "effort", chat.variables);
    for (const char* name : {"summary", "generate_summary"}) {  // the second is the older name
      const std::string* summary = reasoning->text(name);
      request.summarizes = request.summarizes || (summary != nullptr && *summary != "none");
    }
  }
  const std::string* truncation = fields.text("truncation");
  chat.truncates = truncation != nullptr && *truncation == "auto";
  return request;
}

}  // namespace tenon_http
