// How a family writes calls, as data for the grammar that keeps a model to it. Reading them is the
// business of its CallGrammar.
#pragma once

#include <string_view>

namespace tenon {

/// A call is `call` with its places filled in: $name; $number, a number of the model's own; $id,
/// nine letters and digits of its own; $ten, ten small letters and digits; $arguments, JSON by the
/// schema of the tool; or $parameters, a `parameter` for each of them.
struct CallShape {
  std::string_view call{};
  /// In free text, a call begins with these last bytes of what stands before its first place.
  std::string_view trigger{};
  std::string_view when{};       ///< for templates that contain this; empty: for all
  std::string_view open{};       ///< before the first call
  std::string_view separator{};  ///< between two
  std::string_view close{};      ///< after the last
  /// $key; $type, whether it is a "true" string; $kind, the name of its type; $value: strings as
  /// they are, the rest as JSON.
  std::string_view parameter{};
  std::string_view parameter_separator{};
  bool json_strings = false;   ///< $value is JSON for strings, too
  std::string_view quote{};    ///< around strings: $parameters are as bare_json.h has them
  bool only_at_start = false;  ///< a trigger further on is text
  bool single = false;         ///< one call an answer
  bool exact = false;          ///< its line breaks must be there; else they may
};

}  // namespace tenon
