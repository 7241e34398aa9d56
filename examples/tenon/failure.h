// Errors of the program itself; failures of the library are tenon::Error.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon_program {

/// Complete line for the user: problem, place, remedy.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Planned end of the program with an exit code and a line.
class Ending : public std::runtime_error {
 public:
  Ending(int exit_code, const std::string& text)
      : std::runtime_error(text), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// Thrown after the reader of standard output has gone; the program ends quietly.
class OutputClosed : public std::exception {};

}  // namespace tenon_program
