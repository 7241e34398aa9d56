#include "server/protocols/message_blocks.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/compat/volatile_lines.h"
#include "server/protocols/chat_messages.h"
#include "server/protocols/other_fields.h"

namespace tenon_http {
namespace {

[[noreturn]] void refuse_block(const Fields& block, const std::string& type) {
  if (type == "image" || type == "document") {
    throw invalid_request(block.path() +
                              ": the model reads text only; it cannot take a block of type \"" +
                              type + "\" (images and documents)",
                          block.path());
  }
  block.refuse("type", "\"" + type + "\" is no kind of block that is known here");
}

/// Validates cache_control and otherwise ignores it: the whole prompt is always cached.
void check_cache_control(const Fields& fields) {
  const std::optional<Fields> control = fields.object("cache_control");
  if (!control) return;
  if (control->required_text("type") != "ephemeral") {
    control->refuse("type", R"(must be "ephemeral")");
  }
  const std::string* life = control->text("ttl");
  if (life != nullptr && *life != "5m" && *life != "1h") {
    control->refuse("ttl", R"(must be "5m" or "1h")");
  }
}

/// Block of a list, with validated cache_control.
Fields block_of(const Json& list, const std::string& path, size_t index) {
  Fields block(list[index], item_path(path, index));
  check_cache_control(block);
  return block;
}

std::string read_system(const Fields& fields) {
  const Json* system = fields.find("system");
  if (system == nullptr) return "";
  if (system->is_string()) return system->get<std::string>();
  if (!system->is_array()) fields.refuse("system", "must be a string or a list of blocks");
  JoinedTexts text;
  for (size_t i = 0; i < system->size(); ++i) {
    const Fields block = block_of(*system, "system", i);
    const std::string& type = block.required_text("type");
    if (type != "text") refuse_block(block, type);
    const std::string part = without_volatile_lines(block.required_text("text"));
    if (!part.empty()) text.add(part);
  }
  return text.take();
}

/// Text of a tool's result. A sentence replaces unreadable parts, so that the agent can continue.
std::string result_text(const Fields& result) {
  const Json* content = result.find("content");
  const std::string begin = result.boolean("is_error").value_or(false) ? "Error: " : "";
  if (content == nullptr) return begin;
  if (content->is_string()) return begin + content->get<std::string>();
  if (!content->is_array()) result.refuse("content", "must be a string or a list of blocks");
  JoinedTexts text;
  for (size_t i = 0; i < content->size(); ++i) {
    const Fields block = block_of(*content, result.path_of("content"), i);
    const std::string& type = block.required_text("type");
    if (type == "text") {
      text.add(block.required_text("text"));
    } else if (type == "tool_reference") {
      text.add("[tool: " + block.required_text("tool_name") + "]");
    } else if (type == "image" || type == "document") {
      text.add("[" + type + ": this model reads text only]");
    } else {
      refuse_block(block, type);
    }
  }
  return begin + text.take();
}

/// Blocks of tools that ran at another server; the model does not see them.
constexpr auto kHostedBlocks = std::to_array<std::string_view>(
    {"server_tool_use", "web_search_tool_result", "web_fetch_tool_result",
     "code_execution_tool_result", "bash_code_execution_tool_result",
     "text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result",
     "tool_search_tool_result", "container_upload"});

/// Reads the blocks of an assistant message.
class AssistantReader {
 public:
  AssistantReader(const ThoughtSigner& signer, std::vector<std::string>& notes)
      : signer_(signer), notes_(notes) {}

  Json read(const Json& blocks, const std::string& path) {
    Json message{{"role", "assistant"}, {"content", ""}};
    for (size_t i = 0; i < blocks.size(); ++i) {
      const Fields block = block_of(blocks, path, i);
      const std::string& type = block.required_text("type");
      if (type == "text") {
        read_text(block);
      } else if (type == "thinking") {
        read_thought(block);
      } else if (type == "tool_use") {
        message["tool_calls"].push_back(tool_call_of(block));
      } else if (type == "redacted_thinking") {
        (void)block.required_text("data");
        notes_.push_back(block.path() + ": is a thought of another server, which cannot be read");
      } else if (std::find(kHostedBlocks.begin(), kHostedBlocks.end(), type) !=
                 kHostedBlocks.end()) {
        notes_.push_back(block.path() + ": \"" + type + "\" is not shown to the model");
      } else {
        refuse_block(block, type);
      }
      was_text_ = type == "text";
    }
    message["content"] = text_;
    if (!thoughts_.empty()) message["reasoning_content"] = thoughts_;
    return message;
  }

 private:
  /// Joins adjacent text blocks by a line break. A text after a call or a thought continues
  /// directly, as this server streams it.
  void read_text(const Fields& block) {
    if (was_text_ && !text_.empty()) text_ += '\n';
    text_ += block.required_text("text");
  }

  /// The signature may be missing after a cut stream, or be another server's.
  void read_thought(const Fields& block) {
    const std::string& thought = block.required_text("thinking");
    const std::string* signature = block.text("signature");
    if (signature == nullptr || !signer_.has_signed(thought, *signature)) {
      notes_.push_back(block.path_of("signature") +
                       ": is not that of this server for this thought, which is taken as it came");
    }
    thoughts_ += thought;
  }

  Json tool_call_of(const Fields& block) {
    const Json* input = block.find("input");
    return {{"id", block.required_text("id")},
            {"type", "function"},
            {"function",
             {{"name", block.required_text("name")},
              {"arguments",
               input == nullptr ? "{}" : arguments_text(*input, block.path_of("input"), notes_)}}}};
  }

  const ThoughtSigner& signer_;
  std::vector<std::string>& notes_;
  std::string text_;
  std::string thoughts_;
  bool was_text_ = false;  ///< the last block was text
};

/// Makes separate messages of tool results; the content between them keeps its order.
void read_user(const std::string& role, const Json& blocks, const std::string& path,
               Json& messages) {
  JoinedTexts texts;
  const auto end_text = [&] {
    if (!texts.empty()) {
      messages.push_back({{"role", role}});
      texts.take_into(messages.back());
    }
    texts = {};
  };
  const size_t before = messages.size();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Fields block = block_of(blocks, path, i);
    const std::string& type = block.required_text("type");
    if (type == "text") {
      texts.add(block.required_text("text"));
    } else if (type == "tool_result") {
      end_text();
      messages.push_back({{"role", "tool"},
                          {"tool_call_id", block.required_text("tool_use_id")},
                          {"content", result_text(block)}});
    } else {
      refuse_block(block, type);
    }
  }
  end_text();
  if (messages.size() == before) messages.push_back({{"role", role}, {"content", ""}});
}

Json read_block_messages(const Fields& fields, const ThoughtSigner& signer,
                         std::vector<std::string>& notes) {
  Json messages = Json::array();
  const std::string system = read_system(fields);
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  const Json* list = fields.list("messages");
  if (list == nullptr) fields.refuse("messages", "is missing");
  if (list->empty()) fields.refuse("messages", "must not be empty");
  for (size_t i = 0; i < list->size(); ++i) {
    const Fields message((*list)[i], item_path("messages", i));
    const std::string& role = message.required_text("role");
    if (role != "user" && role != "assistant" && role != "system") {
      message.refuse("role", "\"" + role + "\" is no role");
    }
    const Json& content = message.required("content");
    if (content.is_string()) {
      messages.push_back({{"role", role}, {"content", content}});
    } else if (!content.is_array()) {
      message.refuse("content", "must be a string or a list of blocks");
    } else if (role == "assistant") {
      messages.push_back(AssistantReader(signer, notes).read(content, message.path_of("content")));
    } else {
      read_user(role, content, message.path_of("content"), messages);
    }
  }
  return messages;
}

ToolUse read_block_tools(const Fields& fields) {
  ToolUse use;
  const Json* tools = fields.list("tools");
  if (tools != nullptr && tools->size() > kMaxTools) {
    fields.refuse("tools", "has more than 1024 tools");
  }
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const Fields tool = block_of(*tools, "tools", i);
    (void)tool.boolean("defer_loading");
    const std::string* type = tool.text("type");
    if (type != nullptr && *type != "custom") {
      tool.refuse("type",
                  "\"" + *type + "\" is a tool of another server; only custom ones are served");
    }
    (void)tool.required("input_schema");
    add_function(use, function_tool(tool, "input_schema"), tool, "input_schema");
  }
  const std::optional<Fields> choice = fields.object("tool_choice");
  if (!choice) return use;
  const std::string& type = choice->required_text("type");
  if (type == "tool") {
    use.choice = named_choice(use, choice->required_text("name"), *choice, "name");
  } else if (type == "any") {
    if (use.tools.empty())
      fields.refuse("tool_choice", "a call is asked for, but there are no tools");
    use.choice = "required";
  } else if (type == "none" || type == "auto") {
    use.choice = type;
  } else {
    choice->refuse("type", R"(must be "auto", "any", "tool" or "none")");
  }
  use.is_parallel = !choice->boolean("disable_parallel_tool_use").value_or(false);
  return use;
}

void read_thinking(const Fields& fields, Json& variables) {
  const std::optional<Fields> thinking = fields.object("thinking");
  if (!thinking) return;
  const std::string& type = thinking->required_text("type");
  if (type != "enabled" && type != "disabled" && type != "adaptive") {
    thinking->refuse("type", R"(must be "enabled", "disabled" or "adaptive")");
  }
  if (type != "adaptive") variables["enable_thinking"] = type == "enabled";
  if (type == "enabled") {
    (void)thinking->required("budget_tokens");
    if (thinking->integer("budget_tokens", 1, INT64_MAX).value_or(0) < 1024) {
      thinking->refuse("budget_tokens", "must be at least 1024");
    }
  }
  const std::string* display = thinking->text("display");
  if (display != nullptr && *display != "summarized" && *display != "omitted") {
    thinking->refuse("display", R"(must be "summarized" or "omitted")");
  }
}

/// Refuses "thread", a conversation that the server would store. The tool runner of the official
/// client asks for one and continues without it after this error (@anthropic-ai/sdk 1.12,
/// ThreadState).
void refuse_thread(const Fields& fields) {
  if (!fields.has("thread")) return;
  throw invalid_request("thread: is not served: send all messages", "thread")
      .with_details(R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})");
}

void read_output_config(const Fields& fields, ChatRequest& request) {
  const std::optional<Fields> config = fields.object("output_config");
  if (config) read_effort(*config, "effort", request.variables);
  std::optional<Fields> format = config ? config->object("format") : std::nullopt;
  if (!format) format = fields.object("output_format");  // older name
  if (!format) return;
  if (format->required_text("type") != "json_schema") {
    format->refuse("type", R"(must be "json_schema")");
  }
  request.format_field = format->path_of("schema");
  request.response_format = schema_format(*format, request.notes);
}

}  // namespace

bool omits_thoughts(const Fields& fields) {
  const std::optional<Fields> thinking = fields.object("thinking");
  const std::string* display = thinking ? thinking->text("display") : nullptr;
  return display != nullptr && *display == "omitted";
}

ChatRequest read_message_request(const Fields& fields, const ThoughtSigner& signer) {
  refuse_thread(fields);
  ChatRequest request;
  request.messages = read_block_messages(fields, signer, request.notes);
  request.tools = read_block_tools(fields);
  request.continues = ends_in_text(request.messages);
  if (!request.continues && request.messages.back()["role"] == "assistant") {
    request.notes.push_back("messages: the last message has calls; a new turn begins after them");
  }
  check_other_fields(fields, kMessageFields, request.notes);
  if (const std::optional<Fields> metadata = fields.object("metadata")) {
    (void)metadata->text("user_id");
  }
  read_thinking(fields, request.variables);
  read_output_config(fields, request);
  return request;
}

}  // namespace tenon_http
