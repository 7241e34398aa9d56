// Kinds of bytes that grammars often treat alike, one bit each. Masks accept or reject whole parts
// of a vocabulary by kind.
#pragma once

#include <cstdint>

namespace tenon::grammar {

inline constexpr uint8_t kBeyondAscii = 1;

constexpr uint8_t byte_kind(uint8_t byte) {
  if (byte >= 0x80) return kBeyondAscii;
  if (byte == ' ') return 2;
  if (byte >= '0' && byte <= '9') return 4;
  if (byte >= 'A' && byte <= 'Z') return 8;
  if (byte >= 'a' && byte <= 'z') return 16;
  if (byte < 0x20 || byte == 0x7F) return 32;
  return byte == '"' || byte == '\\' ? 64 : 128;
}

}  // namespace tenon::grammar
