// Standard output that notices failures, a progress bar on standard error, printable text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <tenon/tenon.hpp>

namespace tenon_program {

/// Writes to standard output. Throws OutputClosed when nobody reads it any more, Failure for other
/// errors (a full disk, a closed descriptor).
void print(std::string_view text);
/// Sends what print() left in the buffer on its way. Throws like print(). Every command ends with
/// it.
void flush();
bool stdout_is_terminal();

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
