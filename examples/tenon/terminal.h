// Standard output that notices failures, a progress bar on standard error, printable text.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <thread>

namespace tenon_program {

/// Writes to standard output. Throws OutputClosed when nobody reads it any more, Failure for other
/// errors (a full disk, a closed descriptor).
void print(std::string_view text);
/// Sends what print() left in the buffer on its way. Throws like print(). Every command ends with
/// it.
void flush();
bool stdout_is_terminal();

/// Role of a text, which decides its colour.
enum class Style { Heading, Error, Note, Prompt, Dim };
/// Whether to use colours: on a terminal that supports them, unless NO_COLOR is set.
bool stdout_style();
bool stderr_style();
/// Text in its style's colour if `on`, else unchanged.
std::string styled(bool on, Style style, const std::string& text);

/// Starts a new line for standard error if the last answer left its line open.
void begin_error_line();
/// Prints the line "tenon: ..." on standard error, on a new line. kind: Error or Note.
void say(Style kind, const std::string& line);

/// Width of the terminal at standard output; 0 without a terminal.
size_t terminal_columns();

/// A bar on standard error while it is a terminal, else nothing. Cleared when done or destroyed.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double fraction);
  void clear();
  /// update() as the callback that the library wants; never cancels.
  std::function<bool(double)> callback();

 private:
  std::string label_;
  bool enabled_;
  int percent_ = -1;
};

/// Shows the cause of a wait and its seconds on standard error, during its lifetime. Silent if that
/// is no terminal.
class Waiting {
 public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void run();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable change_;
  bool done_ = false;
  std::thread thread_;
};

/// Shows what the library warns of on standard error, a line each. Must outlive the models that it
/// is given to.
tenon::Log warnings();

/// Says that an answer ended with TENON_FINISH_BANNED.
void warn_all_banned();

/// The text with control characters and ill-formed UTF-8 escaped, so that a model file cannot
/// command the terminal; cut after `limit` bytes, with an ellipsis.
std::string printable(std::string_view text, size_t limit);

/// "1.5 MiB"
std::string size_text(uint64_t bytes);

}  // namespace tenon_program
