// Values of small floating-point codes as tables: E4M3, E5M2, E8M0, unsigned E5M3, E2M1, E2M3.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace tenon::foreign {

/// Magnitude of a code with subnormals: exponent above `mantissa_bits`, this bias.
constexpr float small_float(uint32_t code, uint32_t mantissa_bits, int bias) {
  const uint32_t mantissa = code & ((1u << mantissa_bits) - 1u);
  const auto exponent = static_cast<int>(code >> mantissa_bits);
  double value = mantissa + (exponent == 0 ? 0.0 : static_cast<double>(1u << mantissa_bits));
  int power = (exponent == 0 ? 1 : exponent) - bias - static_cast<int>(mantissa_bits);
  for (; power > 0; --power) value *= 2.0;
  for (; power < 0; ++power) value *= 0.5;
  return static_cast<float>(value);
}

/// 2^count codes whose top bit is the sign.
template <size_t N>
constexpr std::array<float, N> signed_table(uint32_t mantissa_bits, int bias) {
  std::array<float, N> table{};
  for (uint32_t i = 0; i < N / 2; ++i) {
    table[i] = small_float(i, mantissa_bits, bias);
    table[i + N / 2] = -table[i];
  }
  return table;
}

inline constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

constexpr std::array<float, 256> make_e4m3() {
  auto table = signed_table<256>(3, 7);
  table[0x7f] = table[0xff] = kNoNumber;
  return table;
}

constexpr std::array<float, 256> make_e5m2() {
  auto table = signed_table<256>(2, 15);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  table[0x7c] = kInfinity;
  table[0xfc] = -kInfinity;
  for (const int code : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff}) table[code] = kNoNumber;
  return table;
}

constexpr std::array<float, 256> make_e8m0() {
  std::array<float, 256> table{};
  double value = 1.0;
  for (int i = 0; i < 127; ++i) value *= 0.5;
  for (int code = 0; code < 255; ++code, value *= 2.0) table[code] = static_cast<float>(value);
  table[255] = kNoNumber;
  return table;
}

constexpr std::array<float, 256> make_unsigned_e5m3() {
  std::array<float, 256> table{};
  for (uint32_t code = 0; code < 255; ++code) table[code] = small_float(code, 3, 15);
  table[255] = kNoNumber;
  return table;
}

inline constexpr std::array<float, 256> kE4M3Table = make_e4m3();
inline constexpr std::array<float, 256> kE5M2Table = make_e5m2();
inline constexpr std::array<float, 256> kE8M0Table = make_e8m0();
inline constexpr std::array<float, 256> kUnsignedE5M3Table = make_unsigned_e5m3();
inline constexpr std::array<float, 16> kE2M1Table = signed_table<16>(1, 1);
inline constexpr std::array<float, 64> kE2M3Table = signed_table<64>(3, 1);

inline constexpr const float* kE4M3 = kE4M3Table.data();
inline constexpr const float* kE5M2 = kE5M2Table.data();
inline constexpr const float* kE8M0 = kE8M0Table.data();
inline constexpr const float* kUnsignedE5M3 = kUnsignedE5M3Table.data();

}  // namespace tenon::foreign
