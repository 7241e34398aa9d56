// Notation of a family's calls, as data for the grammar that constrains a model. The family's
// CallGrammar parses calls.
#pragma once

#include <string_view>

namespace tenon {

/// A call is `call` with its placeholders filled in: $name; $number, a number of the model's
/// choice; $id, nine letters and digits; $ten, ten lower-case letters and digits; $arguments, JSON
/// by the tool's schema; or $parameters, a `parameter` for each of them.
struct CallShape {
  std::string_view call{};
  /// In free text, a call begins with these bytes, a suffix of the text before its first
  /// placeholder.
  std::string_view trigger{};
  std::string_view when{};       ///< text that selects templates; empty for all
  std::string_view open{};       ///< before the first call
  std::string_view separator{};  ///< between two calls
  std::string_view close{};      ///< after the last call
  /// Placeholders: $key; $type, whether the value is a "true" string; $kind, the name of its type;
  /// $value, strings as they are and other values as JSON.
  std::string_view parameter{};
  std::string_view parameter_separator{};
  bool json_strings = false;   ///< $value is JSON for strings as well
  std::string_view quote{};    ///< around strings; $parameters are then as in bare_json.h
  bool only_at_start = false;  ///< a trigger after the start is text
  bool single = false;         ///< a single call per answer
  bool exact = false;          ///< line breaks are mandatory, otherwise optional
};

}  // namespace tenon
