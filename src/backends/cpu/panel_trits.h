// Ten ternary digits in a 16-bit word, in the code that the kernels take apart by multiplying.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// A word is five digits of base 9, each of which is two ternary ones. For a word w digit n is
/// (w * 9^n mod 2^16) * 9 / 2^16, rounded down.
inline constexpr uint32_t kTritWords = 59049;  // 9^5

/// The word of a number below kTritWords, whose highest digit is digit 0: the fraction number /
/// 9^5, rounded up, so that no product falls below its digit.
constexpr uint16_t trit_word(uint32_t number) noexcept {
  return static_cast<uint16_t>((number * 65536ull + kTritWords - 1) / kTritWords);
}

/// Takes the next digit of base 9 off a word.
constexpr uint32_t next_trit_pair(uint16_t& word) noexcept {
  const uint32_t product = word * 9u;
  word = static_cast<uint16_t>(product);
  return product >> 16;
}

}  // namespace tenon::cpu
