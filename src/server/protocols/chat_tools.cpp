#include "server/protocols/chat_tools.h"

#include <algorithm>
#include <optional>

#include "server/api_error.h"
#include "server/compat/lenient_schema.h"
#include "server/protocols/custom_tools.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxNameBytes = 128;

void check_name(const Fields& fields) {
  const std::string& name = fields.required_text("name");
  const bool is_plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.' || c == ':';
  });
  if (name.empty() || name.size() > kMaxNameBytes || !is_plain) {
    fields.refuse("name", "must be 1 to 128 letters, digits, '_', '-', '.' and ':'");
  }
}

const std::string& name_of(const Json& tool) {
  return tool["function"]["name"].get_ref<const std::string&>();
}

bool has_tool(const ToolUse& use, const std::string& name) {
  return std::any_of(use.tools.begin(), use.tools.end(),
                     [&](const Json& tool) { return name_of(tool) == name; });
}

void check_is_new(const ToolUse& use, const Json& tool, const std::string& path) {
  if (!has_tool(use, name_of(tool))) return;
  throw invalid_request(path + ": there are two tools with the name \"" + name_of(tool) + "\"",
                        path);
}

/// {"type": "custom", "custom": {"name", "description", "format"}}
void read_custom_tool(const Fields& tool, ToolUse& use) {
  const std::optional<Fields> custom = tool.object("custom");
  if (!custom) tool.refuse("custom", "is missing");
  const std::optional<Fields> format = custom->object("format");
  const std::optional<Fields> grammar = format ? format->object("grammar") : std::nullopt;
  Json function = function_tool(*custom, "parameters");
  function["function"]["parameters"] =
      custom_tool_schema(format ? &*format : nullptr, grammar ? &*grammar : nullptr);
  use.custom_names.push_back(name_of(function));
  check_is_new(use, function, tool.path());
  add_function(use, std::move(function), *custom, "parameters");
  use.lenient_fields.back().clear();  // the grammar is never lenient
}

/// Object that holds a tool's name: the member named by its type, or the tool itself.
Fields named_holder(const Fields& tool) {
  for (const char* kind : {"function", "custom"}) {
    if (const std::optional<Fields> holder = tool.object(kind)) return *holder;
  }
  return tool;
}

void read_list(const Fields& fields, ToolUse& use) {
  const Json* tools = fields.list("tools");
  if (tools == nullptr) return;
  if (tools->size() > kMaxTools) fields.refuse("tools", "has more than 1024 tools");
  for (size_t i = 0; i < tools->size(); ++i) {
    const Fields tool((*tools)[i], item_path("tools", i));
    const std::string* type = tool.text("type");
    if (type != nullptr && *type == "custom") {
      read_custom_tool(tool, use);
      continue;
    }
    if (type != nullptr && *type != "function") {
      tool.refuse("type", "\"" + *type + "\" is not served; \"function\" and \"custom\" are");
    }
    const std::optional<Fields> function = tool.object("function");
    if (!function) tool.refuse("function", "is missing");
    Json read = function_tool(*function, "parameters");
    check_is_new(use, read, tool.path());
    add_function(use, std::move(read), *function, "parameters");
  }
}

void read_old_list(const Fields& fields, ToolUse& use) {
  const Json* functions = fields.list("functions");
  const size_t count = functions == nullptr ? 0 : functions->size();
  if (count > kMaxTools) fields.refuse("functions", "has more than 1024 functions");
  if (functions != nullptr) use.tools_field = "functions";
  if (functions != nullptr) use.choice_field = "function_call";
  for (size_t i = 0; i < count; ++i) {
    const Fields function((*functions)[i], item_path("functions", i));
    Json read = function_tool(function, "parameters");
    check_is_new(use, read, function.path());
    add_function(use, std::move(read), function, "parameters");
  }
  const Json* choice = fields.find("function_call");
  if (choice == nullptr) return;
  if (choice->is_string() && (*choice == "auto" || *choice == "none")) {
    use.choice = *choice;
  } else if (choice->is_object()) {
    const Fields named(*choice, "function_call");
    use.choice = named_choice(use, named.required_text("name"), named, "name");
  } else {
    fields.refuse("function_call", R"(must be "auto", "none" or {"name": ...})");
  }
}

/// {"type": "allowed_tools", "allowed_tools": {"mode": ..., "tools": [...]}}
void read_allowed(const Fields& choice, ToolUse& use) {
  const std::optional<Fields> nested = choice.object("allowed_tools");
  const Fields& allowed = nested ? *nested : choice;
  const std::string& mode = allowed.required_text("mode");
  if (mode != "auto" && mode != "required") {
    allowed.refuse("mode", R"(must be "auto" or "required")");
  }
  const Json* tools = allowed.list("tools");
  if (tools == nullptr || tools->empty()) allowed.refuse("tools", "must be a list of tools");
  Json names = Json::array();
  for (size_t i = 0; i < tools->size(); ++i) {
    const Fields tool((*tools)[i], item_path(allowed.path_of("tools"), i));
    (void)tool.text("type");  // the list of tools determines the type
    const std::string name = named_holder(tool).required_text("name");
    (void)named_choice(use, name, allowed, "tools");
    names.push_back(name);
  }
  keep_tools(use, names);
  use.choice = mode;
}

}  // namespace

Json function_tool(const Fields& fields, std::string_view schema_field) {
  check_name(fields);
  Json function{{"name", *fields.text("name")}};
  if (const std::string* description = fields.text("description")) {
    function["description"] = *description;
  }
  (void)fields.boolean("strict");
  const std::optional<Fields> schema = fields.object(schema_field);
  function["parameters"] =
      schema ? schema->json() : Json{{"type", "object"}, {"properties", Json::object()}};
  return {{"type", "function"}, {"function", std::move(function)}};
}

void add_function(ToolUse& use, Json tool, const Fields& fields, std::string_view schema_field) {
  const bool is_strict = fields.boolean("strict").value_or(false);
  use.lenient_fields.push_back(is_strict ? "" : fields.path_of(schema_field));
  use.tools.push_back(std::move(tool));
}

std::optional<Json> lenient_tools(const ToolUse& use, bool all, std::vector<std::string>& notes,
                                  const std::function<bool(const Json& tool)>& is_accepted) {
  std::optional<Json> kept;
  for (size_t i = 0; i < use.tools.size(); ++i) {
    const std::string& field = use.lenient_fields[i];
    if (field.empty()) continue;
    const Json& given = use.tools[i]["function"]["parameters"];
    Json schema = {{"type", "object"}};
    if (!all) {
      if (is_accepted(use.tools[i])) continue;
      schema = lenient_schema(given, field, notes);
      // Arguments remain an object after the schema is dropped.
      if (!schema.is_object()) schema = {{"type", "object"}};
    } else if (schema != given) {
      notes.push_back(
          field + ": is not kept: the tools together are too large, or cannot be kept together");
    }
    if (schema == given) continue;
    if (!kept) kept = use.tools;
    (*kept)[i]["function"]["parameters"] = std::move(schema);
  }
  return kept;
}

Json named_choice(const ToolUse& use, const std::string& name, const Fields& fields,
                  std::string_view field) {
  if (!has_tool(use, name)) fields.refuse(field, "there is no tool \"" + name + "\"");
  return {{"type", "function"}, {"function", {{"name", name}}}};
}

void keep_tools(ToolUse& use, const Json& names) {
  Json tools = Json::array();
  std::vector<std::string> lenient_fields;
  for (size_t i = 0; i < use.tools.size(); ++i) {
    if (std::find(names.begin(), names.end(), Json(name_of(use.tools[i]))) == names.end()) continue;
    tools.push_back(std::move(use.tools[i]));
    lenient_fields.push_back(std::move(use.lenient_fields[i]));
  }
  use.tools = std::move(tools);
  use.lenient_fields = std::move(lenient_fields);
}

void read_tool_choice(const Fields& fields, ToolUse& use) {
  const Json* choice = fields.find("tool_choice");
  if (choice == nullptr) return;
  if (choice->is_string()) {
    if (*choice != "auto" && *choice != "none" && *choice != "required") {
      fields.refuse("tool_choice", R"(must be "auto", "none", "required" or an object)");
    }
    use.choice = *choice;
    if (use.must_call() && use.tools.empty()) {
      fields.refuse("tool_choice", "a call is asked for, but there are no tools");
    }
    return;
  }
  if (!choice->is_object()) fields.refuse("tool_choice", "must be a string or an object");
  const Fields named(*choice, "tool_choice");
  const std::string& type = named.required_text("type");
  if (type == "allowed_tools") return read_allowed(named, use);
  if (type != "function" && type != "custom") {
    named.refuse("type", "\"" + type + "\" is not served");
  }
  use.choice = named_choice(use, named_holder(named).required_text("name"), fields, "tool_choice");
}

ToolUse read_tools(const Fields& fields) {
  ToolUse use;
  read_list(fields, use);
  if (use.tools.empty()) {
    read_old_list(fields, use);
  } else {
    for (const char* older : {"functions", "function_call"}) {
      if (fields.has(older)) fields.refuse(older, "cannot stand beside tools");
    }
  }
  read_tool_choice(fields, use);
  use.is_parallel = fields.boolean("parallel_tool_calls").value_or(true);
  return use;
}

}  // namespace tenon_http
