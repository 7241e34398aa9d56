#include "text/template/jinja_characters.h"

#include <utf8proc.h>

#include "text/unicode/utf8_codec.h"

namespace tenon::jinja {
namespace {

utf8proc_category_t category(uint32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

}  // namespace

bool is_space(uint32_t code) {
  return (code >= 9 && code <= 13) || (code >= 28 && code <= 32) || code == 0x85 || code == 0xA0 ||
         code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
         code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_alpha(uint32_t code) {
  if (code < 128) return (code | 32) >= 'a' && (code | 32) <= 'z';
  const auto of = category(code);
  return of >= UTF8PROC_CATEGORY_LU && of <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(uint32_t code) {
  if (code < 128) return code >= '0' && code <= '9';
  return category(code) == UTF8PROC_CATEGORY_ND;
}

bool is_digit(uint32_t code) {
  // Besides decimals: superscripts, subscripts and the first digits of each circled series.
  return is_decimal(code) || code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 ||
         (code >= 0x2074 && code <= 0x2079) || (code >= 0x2080 && code <= 0x2089) ||
         (code >= 0x2460 && code <= 0x2468) || (code >= 0x2474 && code <= 0x247C) ||
         (code >= 0x2488 && code <= 0x2490);
}

bool is_numeric(uint32_t code) {
  if (is_digit(code)) return true;
  const auto of = category(code);
  if (of == UTF8PROC_CATEGORY_NL || of == UTF8PROC_CATEGORY_NO) return true;
  // Ideographs of numbers.
  constexpr uint32_t kIdeographs[] = {0x4E00, 0x4E8C, 0x4E09, 0x56DB, 0x4E94, 0x516D, 0x4E03,
                                      0x516B, 0x4E5D, 0x5341, 0x767E, 0x5343, 0x4E07, 0x96F6};
  for (const uint32_t known : kIdeographs) {
    if (code == known) return true;
  }
  return false;
}

bool is_upper(uint32_t code) {
  if (code < 128) return code >= 'A' && code <= 'Z';
  return category(code) == UTF8PROC_CATEGORY_LU;
}

bool is_lower(uint32_t code) {
  if (code < 128) return code >= 'a' && code <= 'z';
  return category(code) == UTF8PROC_CATEGORY_LL || code == 0xAA || code == 0xBA;
}

bool is_title(uint32_t code) { return category(code) == UTF8PROC_CATEGORY_LT; }

bool is_printable(uint32_t code) {
  if (code < 128) return code >= 32 && code < 127;
  const auto of = category(code);
  return of != UTF8PROC_CATEGORY_CN && of < UTF8PROC_CATEGORY_ZS;
}

uint32_t to_upper(uint32_t code) {
  if (code < 128) return code >= 'a' && code <= 'z' ? code - 32 : code;
  return static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code)));
}

uint32_t to_lower(uint32_t code) {
  if (code < 128) return code >= 'A' && code <= 'Z' ? code + 32 : code;
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code)));
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += utf8_continues(byte) ? 0 : 1;
  return count;
}

size_t character_offset(std::string_view text, size_t index) {
  size_t at = 0;
  while (at < text.size() && index > 0) {
    ++at;
    while (at < text.size() && utf8_continues(text[at])) ++at;
    --index;
  }
  return at;
}

size_t end_of_word(std::string_view text, size_t begin, Budget& budget) {
  for (const Character c : Characters(text, budget, begin)) {
    if (is_space(c.code)) return c.begin;
  }
  return text.size();
}

size_t leading_space(std::string_view text, Budget* budget) {
  size_t at = 0;
  while (at < text.size()) {
    if (budget != nullptr) budget->spend_character();
    const CodePoint c = utf8_decode_valid(text.data() + at);
    if (!is_space(c.code)) break;
    at += c.size;
  }
  return at;
}

size_t trailing_space(std::string_view text, Budget* budget) {
  size_t end = text.size();
  while (end > 0) {
    if (budget != nullptr) budget->spend_character();
    size_t begin = end - 1;
    while (begin > 0 && utf8_continues(text[begin])) --begin;
    if (!is_space(utf8_decode_valid(text.data() + begin).code)) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace tenon::jinja
