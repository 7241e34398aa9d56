// Messages of a conversation, with the template's other inputs.
#pragma once

#include <string>

#include "json_files.h"

namespace tenon_program {

class Conversation {
 public:
  /// Sets the first message; an empty text removes it.
  void set_system(const std::string& text);
  [[nodiscard]] std::string system() const;
  /// Reads a JSON list of tools. Throws Failure naming the file for other content.
  void set_tools(const std::string& path);
  void clear_tools() { tools_ = nullptr; }
  [[nodiscard]] const Json& tools() const { return tools_; }
  /// word: auto, required, none or the name of a tool; empty for no choice.
  void set_tool_choice(const std::string& word) { tool_choice_ = word; }
  /// Reads the JSON Schema that answers obey; an empty path allows any answer.
  void set_schema(const std::string& path);
  void set_thinking(bool on) { thinking_ = on; }

  void add(const char* role, const std::string& content);
  /// Appends a question with this many pictures before it.
  void add_with_pictures(const std::string& question, size_t pictures);
  /// Appends a message in JSON.
  void add(const std::string& message);

  /// Removes the last question and its answer; false without a question.
  bool undo();
  /// Removes the last answer; false without a question.
  bool undo_answer();
  /// Removes all messages except the system message.
  void clear();
  /// Removes the oldest of several questions with its answers; false if only one is left.
  bool drop_oldest();
  [[nodiscard]] size_t questions() const;

  /// Conversation for tenon_chat_render.
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string history() const;
  /// Loads the messages of a file that history() wrote, or of an object with `messages`. Throws
  /// Failure.
  void load(const std::string& path);

 private:
  Json messages_ = Json::array();
  Json tools_;
  Json format_;
  std::string tool_choice_;
  bool thinking_ = true;
};

}  // namespace tenon_program
