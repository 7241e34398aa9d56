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

/// The reader of our standard output went away: the program ends quietly.
class OutputClosed : public std::exception {};

}  // namespace tenon_program
