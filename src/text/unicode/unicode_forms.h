// Unicode normalization forms and lowercase, in linear time for any text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon {

enum class UnicodeForm : uint8_t { C, D, KC, KD };

/// The normalization form of `text`, well-formed UTF-8 (Unicode 15, annex 15). Marks are sorted by
/// counting, so a million marks on one letter take no longer than a million letters.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

/// Appends the lowercase of `code`, or `code` itself, by the full mapping without context.
void append_lowercase(uint32_t code, std::string& out);

}  // namespace tenon
