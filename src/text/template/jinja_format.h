// Values as text: str(), repr() and JSON, byte for byte as in Python.
#pragma once

#include <string>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// str(value); empty for an undefined value.
Text to_text(const Value& value, Budget& budget);
/// Appends repr(value).
void append_repr(const Value& value, std::string& out, Budget& budget);
/// Appends "\\x7f", "\\u20ac" or "\\U0001f600".
void append_escaped(uint32_t code, std::string& out);
/// repr of a float: the shortest digits that round-trip.
std::string real_text(double value);
/// True if any text inside the value is foreign (untrusted).
bool has_foreign(const Value& value);

/// Arguments of json.dumps. indent: empty for a single line.
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
