// Signals that end the program while a command writes a file: it removes the unfinished file, then
// ends as the signal would have ended it. Commands that leave nothing behind do not need this.
#pragma once

#include <exception>
#include <memory>

namespace tenon_program {

/// Thrown to end the program as `signal` would.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  [[nodiscard]] int signal() const { return signal_; }

 private:
  int signal_;
};

/// Records SIGINT, SIGTERM and SIGHUP (Windows: Ctrl-C and Ctrl-Break) during its lifetime, unless they are ignored. Only one object
/// at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throws Interrupted after a signal. Call periodically.
  static void check();

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

/// Ends the program by the signal, with the default handler.
[[noreturn]] void end_by_signal(int signal);

}  // namespace tenon_program
