// Standard output that reports failures, a progress bar on standard error, printable text.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>
#include <thread>

namespace tenon_program {

/// Writes to standard output. Throws OutputClosed after the reader has gone, Failure for other
/// errors (a full disk, a closed descriptor).
void print(std::string_view text);
/// Flushes the output of print(). Throws like print(). Every command ends with it.
void flush();
bool stdout_is_terminal();

/// Role of a text, which decides its colour.
enum class Style { Heading, Error, Note, Prompt, Dim };
/// True for colours: on a terminal that supports them, unless NO_COLOR is set.
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

/// Bar on standard error if that is a terminal. Cleared when done or destroyed.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double fraction);
  void clear();
  /// update() as a callback for the library; never cancels.
  std::function<bool(double)> callback();

 private:
  std::string label_;
  bool enabled_;
  int percent_ = -1;
};

/// Shows the reason and seconds of a wait on standard error during its lifetime. Silent without a
/// terminal.
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

/// Log that prints the library's warnings on standard error, one per line. Must outlive the models
/// that use it.
tenon::Log warnings();

/// Reports that an answer ended with TENON_FINISH_BANNED.
void warn_all_banned();

/// Text with control characters and ill-formed UTF-8 escaped, so that a model file cannot control
/// the terminal; cut after `limit` bytes, with an ellipsis.
std::string printable(std::string_view text, size_t limit);

/// Formats "1.5 MiB".
std::string size_text(uint64_t bytes);

}  // namespace tenon_program
