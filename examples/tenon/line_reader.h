// Reads what a user types: with editing and history where standard input is a terminal and libedit is
// there, else lines as they come.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace tenon_program {

class LineReader {
 public:
  LineReader();
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// What was typed up to Enter, without it. A paste of several lines is one text (with editing).
  /// Empty where Ctrl-C ended the line; nothing at the end of the input. prompt: shown on terminals.
  std::optional<std::string> read(const std::string& prompt);
  /// Lets arrow up find the text again.
  void remember(const std::string& text);
  /// Whether Ctrl-C ended the last line.
  [[nodiscard]] bool was_interrupted() const { return interrupted_; }

 private:
  class Editor;
  std::optional<std::string> read_plain(const std::string& prompt);

  std::unique_ptr<Editor> editor_;  ///< null: plain lines
  bool interrupted_ = false;
};

}  // namespace tenon_program
