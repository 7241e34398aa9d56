// Values as text: str(), repr() and JSON, byte for byte as Python writes them.
#pragma once

#include <string>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// str(value); an undefined value is empty.
Text to_text(const Value& value, Budget& budget);
/// repr(value), appended.
void append_repr(const Value& value, std::string& out, Budget& budget);
/// "\\x7f", "\\u20ac" or "\\U0001f600".
void append_escaped(uint32_t code, std::string& out);
/// repr of a float: the shortest digits that read back as the same number.
std::string real_text(double value);
/// Whether any text inside the value is foreign.
bool has_foreign(const Value& value);

/// The arguments of json.dumps. indent: empty for one line.
struct JsonStyle {
  bool one_line = true;
  std::string indent{};
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};
Text to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace tenon::jinja
