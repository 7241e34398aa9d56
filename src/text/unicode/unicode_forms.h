// Unicode normalization forms and small letters, in linear time whatever the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class UnicodeForm : uint8_t { C, D, KC, KD };

/// The form of `text`, well-formed UTF-8 (Unicode 15, annex 15). Marks are ordered by counting, so
/// a million of them on one letter take no longer than a million letters.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

/// Appends the small letter of `code` (or `code`): by the full mapping, without regard to
/// neighbours.
void append_lowercase(uint32_t code, std::string& out);

}  // namespace tenon
