// Tools that take a text: the schema by which the model writes it, and reading what it wrote.
#pragma once

#include <string>
#include <string_view>

#include "server/json/fields.h"

namespace tenon_http {

/// The schema of {"input": TEXT}, where `format` says what the text may be: anything, or by a grammar.
///   format   null: anything
///   grammar  within it, the object with "syntax" and "definition"
/// Throws ApiError at the definition for a grammar that cannot be kept exactly.
Json custom_tool_schema(const Fields* format, const Fields* grammar);

/// The text of {"input": TEXT}, as its JSON comes in.
class CustomInput {
 public:
  /// More of the JSON; returns what of the text is complete: whole characters.
  std::string push(std::string_view json);

 private:
  enum class State : uint8_t { Before, Colon, Text, Escape, Unicode, After };
  void take(char c, std::string& text);
  void take_unicode(char c, std::string& text);

  State state_ = State::Before;
  uint32_t code_ = 0;
  uint32_t num_digits_ = 0;
  uint32_t high_ = 0;      ///< first half of a surrogate pair
  size_t num_quotes_ = 0;  ///< of the name
};

}  // namespace tenon_http
