// Tools that take a text: the schema under which the model writes it, and a parser for the result.
#pragma once

#include <string>
#include <string_view>

#include "server/json/fields.h"

namespace tenon_http {

/// Schema of {"input": TEXT}. Throws ApiError at the definition if the grammar is not supported
/// exactly.
///   format   allowed texts; null for any
///   grammar  object within `format` with "syntax" and "definition"
Json custom_tool_schema(const Fields* format, const Fields* grammar);

/// Extracts TEXT from {"input": TEXT} as its JSON arrives.
class CustomInput {
 public:
  /// Appends JSON; returns the newly complete characters of the text.
  std::string push(std::string_view json);

 private:
  enum class State : uint8_t { Before, Colon, Text, Escape, Unicode, After };
  void take(char c, std::string& text);
  void take_unicode(char c, std::string& text);

  State state_ = State::Before;
  uint32_t code_ = 0;
  uint32_t num_digits_ = 0;
  uint32_t high_ = 0;      ///< first half of a surrogate pair
  size_t num_quotes_ = 0;  ///< quotes seen of the name
};

}  // namespace tenon_http
