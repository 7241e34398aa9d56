// Ctrl-C, and being asked to end, while a command writes a file: it removes what is unfinished, and
// then ends as the signal would have ended it. Commands that leave nothing behind need none of
// this.
#pragma once

#include <csignal>
#include <exception>

namespace tenon_program {

/// The program is to end as `signal` ends programs.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  [[nodiscard]] int signal() const { return signal_; }

 private:
  int signal_;
};

/// While one lives, SIGINT, SIGTERM and SIGHUP are noted where they would end the program. One at a
/// time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// Throws Interrupted when a signal has come. Work calls it every now and then.
  static void check();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[3];
};

/// Ends the program by the signal, as one without a handler.
[[noreturn]] void end_by_signal(int signal);

}  // namespace tenon_program
