// Reads a user's input. Offers editing and history if standard input is a terminal and libedit is
// installed.
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

  /// Reads a line, without its line break. With editing, a paste of several lines is one text.
  /// Returns "" after Ctrl-C, no value at the end of the input. prompt: shown on terminals.
  std::optional<std::string> read(const std::string& prompt);
  /// Adds the text to the history.
  void remember(const std::string& text);
  /// True if Ctrl-C ended the last line.
  [[nodiscard]] bool was_interrupted() const { return interrupted_; }

 private:
  class Editor;
  std::optional<std::string> read_plain(const std::string& prompt);

  std::unique_ptr<Editor> editor_;  ///< null without editing
  bool interrupted_ = false;
};

}  // namespace tenon_program
