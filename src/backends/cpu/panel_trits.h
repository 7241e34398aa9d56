// Five ternary digits in a byte, in the code that the kernels take apart without multiplying.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// The first digit of a code, 0..2; the code of the others is 3 * code mod 256. With
/// avg(a, b) = (a + b + 1) / 2 this is floor(3 * code / 256) but for a few codes, which are not
/// used.
constexpr uint8_t trit_of(uint8_t code) noexcept {
  const int half = (code + 1) / 2;
  return static_cast<uint8_t>((code + half + 1) / 2 - 1) >> 6;
}

struct TritCodes {
  uint8_t code[243] = {};  ///< by the number that the five digits are in base 3, first digit first
};

constexpr TritCodes make_trit_codes() noexcept {
  TritCodes codes;
  for (int byte = 255; byte >= 0; --byte) {
    int number = 0;
    bool valid = true;
    auto rest = static_cast<uint8_t>(byte);
    for (int n = 0; n < 5; ++n) {
      const int digit = trit_of(rest);
      valid = valid && digit <= 2;
      number = 3 * number + digit;
      rest = static_cast<uint8_t>(3 * rest);
    }
    if (valid) codes.code[number] = static_cast<uint8_t>(byte);
  }
  return codes;
}
inline constexpr TritCodes kTritCodes = make_trit_codes();

}  // namespace tenon::cpu
