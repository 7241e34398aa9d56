// Encoding of control tokens, which have no text, in a grammar: each named token is a byte that
// never occurs in UTF-8. Grammar::marks() maps the bytes to tokens.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::grammar {

inline constexpr uint8_t kFirstMarkByte = 0xF5;
inline constexpr size_t kMaxMarks = 10;
constexpr uint8_t mark_byte(size_t mark) { return static_cast<uint8_t>(kFirstMarkByte + mark); }
/// Any control token besides the marks, for grammars that accept any text.
inline constexpr uint8_t kOtherMarkByte = 0xFF;

}  // namespace tenon::grammar
