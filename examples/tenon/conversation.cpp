#include "conversation.h"

#include <ctime>

#include "failure.h"
#include "host.h"

namespace tenon_program {
namespace {

std::string local_time() {
  const std::tm parts = local_time_of(std::time(nullptr));
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts)};
}

bool is_of(const Json& message, const char* role) {
  return message.is_object() && message.value("role", Json()) == role;
}

/// Tool choice as JSON: a word of the interface, or the name of a tool.
Json choice_of(const std::string& word) {
  if (word == "auto" || word == "required" || word == "none") return word;
  return {{"type", "function"}, {"function", {{"name", word}}}};
}

}  // namespace

void Conversation::set_system(const std::string& text) {
  if (!messages_.empty() && is_of(messages_[0], "system")) messages_.erase(messages_.begin());
  if (!text.empty())
    messages_.insert(messages_.begin(), Json{{"role", "system"}, {"content", text}});
}

std::string Conversation::system() const {
  if (messages_.empty() || !is_of(messages_[0], "system")) return "";
  const Json& content = messages_[0]["content"];
  return content.is_string() ? content.get<std::string>() : json_line(content);
}

void Conversation::set_tools(const std::string& path) {
  Json tools = read_json(path);
  if (!tools.is_array()) throw Failure(path + ": holds no JSON list of tools");
  tools_ = std::move(tools);
}

void Conversation::set_schema(const std::string& path) {
  format_ = nullptr;
  if (path.empty()) return;
  format_ = {{"type", "json_schema"}, {"json_schema", {{"schema", read_json(path)}}}};
}

void Conversation::add(const char* role, const std::string& content) {
  messages_.push_back({{"role", role}, {"content", content}});
}

void Conversation::add_with_pictures(const std::string& question, size_t pictures) {
  Json parts = Json::array();
  for (size_t i = 0; i < pictures; ++i) parts.push_back({{"type", "image"}});
  parts.push_back({{"type", "text"}, {"text", question}});
  messages_.push_back({{"role", "user"}, {"content", std::move(parts)}});
}

void Conversation::add(const std::string& message) { messages_.push_back(Json::parse(message)); }

bool Conversation::undo() {
  for (size_t i = messages_.size(); i-- > 0;) {
    if (!is_of(messages_[i], "user")) continue;
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i), messages_.end());
    return true;
  }
  return false;
}

bool Conversation::undo_answer() {
  for (size_t i = messages_.size(); i-- > 0;) {
    if (!is_of(messages_[i], "user")) continue;
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i) + 1, messages_.end());
    return true;
  }
  return false;
}

void Conversation::clear() {
  const std::string first = system();
  messages_ = Json::array();
  set_system(first);
}

bool Conversation::drop_oldest() {
  size_t first = messages_.size(), second = messages_.size();
  for (size_t i = messages_.size(); i-- > 0;) {
    if (!is_of(messages_[i], "user")) continue;
    second = first;
    first = i;
  }
  if (second == messages_.size()) return false;
  messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(first),
                  messages_.begin() + static_cast<std::ptrdiff_t>(second));
  return true;
}

size_t Conversation::questions() const {
  size_t count = 0;
  for (const Json& message : messages_) count += is_of(message, "user") ? 1 : 0;
  return count;
}

std::string Conversation::json() const {
  Json out{{"messages", messages_}, {"now", local_time()}};
  if (!tools_.is_null()) out["tools"] = tools_;
  if (!tool_choice_.empty()) out["tool_choice"] = choice_of(tool_choice_);
  if (!format_.is_null()) out["response_format"] = format_;
  if (!thinking_) out["enable_thinking"] = false;
  return json_line(out);
}

std::string Conversation::history() const { return json_line(messages_, 2) + "\n"; }

void Conversation::load(const std::string& path) {
  Json file = read_json(path);
  if (file.is_object() && file.contains("messages")) file = Json(file["messages"]);
  if (!file.is_array()) throw Failure(path + ": holds no JSON list of messages");
  for (const Json& message : file) {
    if (!message.is_object() || !message.contains("role")) {
      throw Failure(path + ": a message is no object with a role");
    }
  }
  messages_ = std::move(file);
}

}  // namespace tenon_program
