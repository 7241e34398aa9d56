// What the program itself complains about; failures of the library are tenon::Error.
#pragma once

#include <stdexcept>
#include <string>

namespace tenon_program {

/// A complete line for the user: what, where, what to do.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An answer that is an exit code of its own, with its line.
class Ending : public std::runtime_error {
 public:
  Ending(int exit_code, const std::string& text)
      : std::runtime_error(text), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// The reader of our standard output went away: the program ends quietly.
class OutputClosed : public std::exception {};

}  // namespace tenon_program
