// The classes of characters that Python's string methods go by, and walking over characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::jinja {

/// What str.isspace, str.strip and str.split take for white space.
bool is_space(uint32_t code);
bool is_alpha(uint32_t code);
/// str.isdecimal, str.isdigit (superscripts too), str.isnumeric (fractions and letters too).
bool is_decimal(uint32_t code);
bool is_digit(uint32_t code);
bool is_numeric(uint32_t code);
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
bool is_title(uint32_t code);
/// Whether repr() shows it as it is.
bool is_printable(uint32_t code);
uint32_t to_upper(uint32_t code);
uint32_t to_lower(uint32_t code);
/// The whole mapping: one character may become several.
void append_upper(uint32_t code, std::string& out);
void append_lower(uint32_t code, std::string& out);
void append_title(uint32_t code, std::string& out);

/// The number of characters in well-formed UTF-8.
size_t count_characters(std::string_view text);
/// The byte where character `index` starts; text.size() when there are not so many.
size_t character_offset(std::string_view text, size_t index);

/// Bytes of the white space that begins, and ends, a text.
size_t leading_space(std::string_view text);
size_t trailing_space(std::string_view text);

}  // namespace tenon::jinja
