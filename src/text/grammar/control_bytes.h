// How a grammar names control tokens, which have no text: each that it asks for is a byte that
// UTF-8 does not have. Which token a byte stands for is a Grammar's marks().
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::grammar {

inline constexpr uint8_t kFirstMarkByte = 0xF5;
inline constexpr size_t kMaxMarks = 10;
constexpr uint8_t mark_byte(size_t mark) { return static_cast<uint8_t>(kFirstMarkByte + mark); }
/// Every control token that is none of the marks: for grammars that take any text.
inline constexpr uint8_t kOtherMarkByte = 0xFF;

}  // namespace tenon::grammar
