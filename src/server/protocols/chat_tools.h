// Converts tools and the tool choice of OpenAI's chat interface for a conversation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/json/fields.h"

namespace tenon_http {

inline constexpr size_t kMaxTools = 1024;  ///< per request

struct ToolUse {
  Json tools = Json::array();  ///< as in section 14 of tenon.h; may be empty
  Json choice = "auto";        ///< "auto", "none", "required", or a function
  bool is_parallel = true;
  std::vector<std::string> custom_names{};  ///< names of tools that take a text (custom_tools.h)
  /// [tools] field with the schema of a lenient tool, whose unsupported parts may be dropped; empty
  /// for a strict tool.
  std::vector<std::string> lenient_fields{};
  std::string tools_field = "tools";  ///< name of the field in the request
  std::string choice_field = "tool_choice";

  [[nodiscard]] bool must_call() const {
    return choice.is_object() || (choice.is_string() && choice == "required");
  }
};

/// Reads "tools", "tool_choice", "parallel_tool_calls", or the older "functions" and
/// "function_call". Throws ApiError naming the field.
ToolUse read_tools(const Fields& fields);

/// Reads "tool_choice" among the tools in `use`. Throws ApiError naming the field.
void read_tool_choice(const Fields& fields, ToolUse& use);

/// Converts a function to a tool of a conversation.
///   fields  with "name", "description", "strict" and, under `schema_field`, its parameters' schema
Json function_tool(const Fields& fields, std::string_view schema_field);

/// Adds a tool that function_tool() made from `fields`; lenient without "strict": true.
void add_function(ToolUse& use, Json tool, const Fields& fields, std::string_view schema_field);

/// Tools without the unsupported schema parts of lenient tools; each dropped part is noted. Empty
/// if nothing was dropped.
///   all          drops the whole schema of each lenient tool
///   is_accepted  true for a tool whose schema compiles as it is
std::optional<Json> lenient_tools(const ToolUse& use, bool all, std::vector<std::string>& notes,
                                  const std::function<bool(const Json& tool)>& is_accepted);

/// Choice of a tool that must be called. Throws ApiError at `field` of `fields` if no tool has that
/// name.
Json named_choice(const ToolUse& use, const std::string& name, const Fields& fields,
                  std::string_view field);

/// Keeps only tools with these names.
void keep_tools(ToolUse& use, const Json& names);

}  // namespace tenon_http
