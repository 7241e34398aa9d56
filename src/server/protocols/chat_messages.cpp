#include "server/protocols/chat_messages.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "server/api_error.h"

namespace tenon_http {
namespace {

/// Role that clients send, and its name in templates.
struct Role {
  std::string_view name;
  std::string_view written;
};
constexpr auto kRoles = std::to_array<Role>({
    {"system", "system"},
    {"developer", "system"},
    {"user", "user"},
    {"assistant", "assistant"},
    {"tool", "tool"},
    {"function", "tool"},
});

/// Kinds of parts that a text model cannot read.
constexpr auto kForeignParts = std::to_array<std::string_view>(
    {"image_url", "image", "input_image", "input_audio", "audio_url", "file", "input_file",
     "document", "video_url", "video"});

std::string text_of_part(const Json& part, const std::string& path) {
  if (part.is_string()) return part.get<std::string>();
  const Fields fields(part, path);
  const std::string& type = fields.required_text("type");
  if (type == "text" || type == "input_text" || type == "output_text") {
    return fields.required_text("text");
  }
  if (type == "refusal") return fields.required_text("refusal");
  if (type == "input_json") return to_text(fields.required("data"));
  if (std::find(kForeignParts.begin(), kForeignParts.end(), type) != kForeignParts.end()) {
    throw invalid_request(path + ": the model reads text only; it cannot take a part of type \"" +
                              type + "\" (images and other modalities)",
                          path);
  }
  fields.refuse("type", "\"" + type + "\" is no kind of part that is known here");
}

/// holder: object with the name and arguments of a call.
Json call_of(const std::string& id, const Fields& holder, std::string arguments) {
  return {
      {"id", id},
      {"type", "function"},
      {"function", {{"name", holder.required_text("name")}, {"arguments", std::move(arguments)}}}};
}

std::string arguments_of(const Fields& function, std::vector<std::string>& notes) {
  const Json* arguments = function.find("arguments");
  return arguments == nullptr ? "{}"
                              : arguments_text(*arguments, function.path_of("arguments"), notes);
}

Json read_calls(const Json& calls, const std::string& path, std::vector<std::string>& notes) {
  Json read = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    const Fields call(calls[i], item_path(path, i));
    const std::string* id = call.text("id");
    const std::string* type = call.text("type");
    const bool is_custom = type != nullptr && *type == "custom";
    if (type != nullptr && !is_custom && *type != "function") {
      call.refuse("type", R"(must be "function" or "custom")");
    }
    const std::optional<Fields> function = call.object(is_custom ? "custom" : "function");
    if (!function) call.refuse(is_custom ? "custom" : "function", "is missing");
    const std::string* input = is_custom ? function->text("input") : nullptr;
    std::string arguments = is_custom ? to_text({{"input", input == nullptr ? "" : *input}})
                                      : arguments_of(*function, notes);
    read.push_back(call_of(id == nullptr ? "" : *id, *function, std::move(arguments)));
  }
  return read;
}

/// Reads the members of an assistant message besides its content.
void read_assistant_fields(const Fields& message, Json& read, std::vector<std::string>& notes) {
  for (const char* thoughts : {"reasoning_content", "reasoning"}) {
    const std::string* found = message.text(thoughts);
    if (found != nullptr && !read.contains("reasoning_content")) read["reasoning_content"] = *found;
  }
  if (const std::string* refusal = message.text("refusal")) {
    read["content"] = read["content"].get<std::string>() + *refusal;
  }
  if (message.has("audio")) message.refuse("audio", "the model reads text only");
  const Json* calls = message.list("tool_calls");
  const std::optional<Fields> old_call = message.object("function_call");
  if (calls != nullptr && !calls->empty()) {
    read["tool_calls"] = read_calls(*calls, message.path_of("tool_calls"), notes);
  } else if (old_call) {
    read["tool_calls"] = Json::array({call_of("", *old_call, arguments_of(*old_call, notes))});
  }
}

Json read_message(const Fields& message, std::vector<std::string>& notes) {
  const std::string& given = message.required_text("role");
  const auto role = std::find_if(kRoles.begin(), kRoles.end(),
                                 [&](const Role& known) { return known.name == given; });
  if (role == kRoles.end()) message.refuse("role", "\"" + given + "\" is no role");
  Json read{{"role", role->written}};
  const Json* content = message.find("content");
  const bool may_lack = role->written == "assistant" || role->written == "tool";
  if (content == nullptr && !may_lack) message.refuse("content", "is missing");
  read["content"] = "";
  if (content != nullptr) {
    texts_of_content(*content, message.path_of("content")).take_into(read);
  }
  if (const std::string* name = message.text("name")) read["name"] = *name;
  if (role->written == "assistant") read_assistant_fields(message, read, notes);
  if (role->written == "tool") {
    const std::string* id = message.text("tool_call_id");
    if (id == nullptr && given == "tool") message.refuse("tool_call_id", "is missing");
    if (id != nullptr) read["tool_call_id"] = *id;
  }
  return read;
}

}  // namespace

std::string text_of_content(const Json& content, const std::string& path) {
  return texts_of_content(content, path).take();
}

JoinedTexts texts_of_content(const Json& content, const std::string& path) {
  JoinedTexts text;
  if (content.is_null()) return text;
  if (content.is_string()) {
    text.add(content.get_ref<const std::string&>());
    return text;
  }
  if (!content.is_array()) {
    throw invalid_request(path + ": must be a string or a list of parts", path);
  }
  for (size_t i = 0; i < content.size(); ++i) {
    text.add(text_of_part(content[i], item_path(path, i)));
  }
  return text;
}

void JoinedTexts::add(std::string_view text) {
  if (!text_.empty()) text_ += '\n';
  text_ += text;
  parts_.emplace_back(text);
}

void JoinedTexts::take_into(Json& message) {
  message["content"] = std::move(text_);
  if (parts_.size() < 2 || message["role"] != "user") return;
  message["content_parts"] = std::move(parts_);
}

Json with_parts(Json messages) {
  for (Json& message : messages) {
    const auto given = message.find("content_parts");
    if (given == message.end()) continue;
    JoinedTexts joined;
    Json parts = Json::array();
    for (const Json& part : *given) {
      joined.add(part.get_ref<const std::string&>());
      parts.push_back({{"type", "text"}, {"text", part}});
    }
    message.erase("content_parts");
    // The parts count only if the content is unedited.
    if (message["content"] == joined.take()) message["content"] = std::move(parts);
  }
  return messages;
}

std::string arguments_text(const Json& arguments, const std::string& path,
                           std::vector<std::string>& notes) {
  if (arguments.is_object()) return to_text(arguments);
  if (!arguments.is_string()) {
    throw invalid_request(path + ": must be JSON in a string", path);
  }
  const std::string& text = arguments.get_ref<const std::string&>();
  if (text.empty()) return "{}";
  try {
    if (parse_json(text).is_object()) return text;
  } catch (const ApiError&) {
  }
  // Cut calls have this form, also those that this server sent.
  notes.push_back(path + ": is no JSON object; the template gets the text as it is");
  return text;
}

Json read_messages(const Fields& fields, std::vector<std::string>& notes) {
  const Json* messages = fields.list("messages");
  if (messages == nullptr) fields.refuse("messages", "is missing");
  if (messages->empty()) fields.refuse("messages", "must not be empty");
  Json read = Json::array();
  for (size_t i = 0; i < messages->size(); ++i) {
    read.push_back(read_message(Fields((*messages)[i], item_path("messages", i)), notes));
  }
  return read;
}

Json with_one_system_message(const Json& messages) {
  std::string system;
  Json others = Json::array();
  for (const Json& message : messages) {
    if (message["role"] != "system") {
      others.push_back(message);
      continue;
    }
    if (!system.empty()) system += "\n\n";
    system += message["content"].get<std::string>();
  }
  Json joined = Json::array();
  if (!system.empty()) joined.push_back({{"role", "system"}, {"content", system}});
  for (Json& message : others) joined.push_back(std::move(message));
  return joined;
}

}  // namespace tenon_http
