// The messages of a conversation and what goes with them to the template.
#pragma once

#include <string>

#include "json_files.h"

namespace tenon_program {

class Conversation {
 public:
  /// The first message; empty: none.
  void set_system(const std::string& text);
  [[nodiscard]] std::string system() const;
  /// A JSON list of tools. Throws Failure naming the file where it is none.
  void set_tools(const std::string& path);
  void clear_tools() { tools_ = nullptr; }
  [[nodiscard]] const Json& tools() const { return tools_; }
  /// auto, required, none or the name of a tool; empty: not said.
  void set_tool_choice(const std::string& word) { tool_choice_ = word; }
  /// Answers obey the JSON Schema of this file; empty: any.
  void set_schema(const std::string& path);
  void set_thinking(bool on) { thinking_ = on; }

  void add(const char* role, const std::string& content);
  /// A message as JSON.
  void add(const std::string& message);

  /// Forgets the last question and its answer. False when there is none.
  bool undo();
  /// Forgets the last answer; false when there is no question.
  bool undo_answer();
  /// Forgets all but the system's message.
  void clear();
  /// Forgets the oldest question with its answers, of which there are two at least. False: there is
  /// one alone.
  bool drop_oldest();
  [[nodiscard]] size_t questions() const;

  /// A conversation as tenon_chat_render takes it.
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string history() const;
  /// The messages of a file that history() wrote, or of an object with `messages`. Throws Failure.
  void load(const std::string& path);

 private:
  Json messages_ = Json::array();
  Json tools_;
  Json format_;
  std::string tool_choice_;
  bool thinking_ = true;
};

}  // namespace tenon_program
