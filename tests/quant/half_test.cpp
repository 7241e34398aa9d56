// Scalar conversions, exhaustive for up to 2^16 codes.
#include "quant/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace tenon::quant_test {
namespace {

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

TEST(QuantHalf, EveryF16DecodesToItsFormula) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = f16_to_f32(static_cast<uint16_t>(code));
    const int exponent = static_cast<int>(code >> 10 & 31);
    const auto mantissa = static_cast<double>(code & 1023);
    ASSERT_EQ(std::signbit(value), (code & 0x8000) != 0) << code;
    if (exponent == 31) {
      ASSERT_EQ(std::isnan(value), mantissa != 0) << code;
      ASSERT_EQ(std::isinf(value), mantissa == 0) << code;
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024.0 + mantissa, exponent - 25);
    ASSERT_EQ(std::fabs(value), expected) << code;
  }
}

TEST(QuantHalf, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const bool nan = (code & 0x7c00) == 0x7c00 && (code & 0x3ff) != 0;
    const uint32_t expected = nan ? code | 0x200 : code;  // NaN becomes quiet
    ASSERT_EQ(f32_to_f16(f16_to_f32(static_cast<uint16_t>(code))), expected);
  }
}

// Between neighbouring halves, the middle rounds to the even one; an f32 step beside it, to the
// nearer one.
TEST(QuantHalf, F16RoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const float below = f16_to_f32(static_cast<uint16_t>(code));
    const double above = code == 0x7bff ? 65536.0 : f16_to_f32(static_cast<uint16_t>(code + 1));
    const auto middle = static_cast<float>((static_cast<double>(below) + above) / 2);
    const uint32_t even = code % 2 == 0 ? code : code + 1;
    ASSERT_EQ(f32_to_f16(middle), even) << code;
    ASSERT_EQ(f32_to_f16(-middle), even | 0x8000) << code;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 1e9f)), code + 1);
  }
}

TEST(QuantHalf, F16OverflowsToInfinityAndUnderflowsToZero) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

TEST(QuantHalf, NanStaysNan) {
  for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xff800001u, 0xffffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(nan))));
    EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(nan))));
    EXPECT_EQ(std::signbit(bf16_to_f32(f32_to_bf16(nan))), bits >> 31 != 0);
  }
}

TEST(QuantHalf, EveryBf16IsTheUpperHalfOfItsF32) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = bf16_to_f32(static_cast<uint16_t>(code));
    ASSERT_EQ(bits_of(value), code << 16);
    const bool nan = (code & 0x7fff) > 0x7f80;
    ASSERT_EQ(f32_to_bf16(value), nan ? code | 0x40 : code);
  }
}

TEST(QuantHalf, Bf16RoundsToNearestEven) {
  for (uint32_t code = 0; code < 0x7f80; ++code) {
    const uint32_t middle = code << 16 | 0x8000;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle - 1)), code);
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle)), code % 2 == 0 ? code : code + 1);
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle + 1)), code + 1);
  }
}

TEST(QuantHalf, E8m0IsAPowerOfTwo) {
  for (int code = 0; code < 256; ++code) {
    ASSERT_EQ(e8m0_half_to_f32(static_cast<uint8_t>(code)), std::ldexp(1.0f, code - 128)) << code;
  }
}

TEST(QuantHalf, Ue4m3FollowsItsFormulaAndRoundTrips) {
  for (int code = 0; code < 127; ++code) {
    const int exponent = code >> 3;
    const float mantissa = static_cast<float>(code & 7) / 8.0f;
    const float expected =
        exponent == 0 ? std::ldexp(mantissa, -6) : std::ldexp(1.0f + mantissa, exponent - 7);
    const float value = ue4m3_to_f32(static_cast<uint8_t>(code));
    ASSERT_EQ(value, expected) << code;
    ASSERT_EQ(f32_to_ue4m3(value), code);
    if (code == 126) continue;
    const float next = ue4m3_to_f32(static_cast<uint8_t>(code + 1));
    const float middle = (value + next) / 2;
    ASSERT_EQ(f32_to_ue4m3(middle), code % 2 == 0 ? code : code + 1);
    ASSERT_EQ(f32_to_ue4m3(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(f32_to_ue4m3(std::nextafter(middle, 1e9f)), code + 1);
  }
  EXPECT_EQ(ue4m3_to_f32(127), 0.0f);
  EXPECT_EQ(f32_to_ue4m3(1e30f), 126);
  EXPECT_EQ(f32_to_ue4m3(-1.0f), 0);
  EXPECT_EQ(f32_to_ue4m3(std::numeric_limits<float>::quiet_NaN()), 0);
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("f16c"))) uint16_t hardware_f32_to_f16(float value) {
  using Floats = float __attribute__((vector_size(16)));
  const auto halves = __builtin_ia32_vcvtps2ph(Floats{value, 0, 0, 0}, 0);
  return static_cast<uint16_t>(halves[0]);
}

__attribute__((target("f16c"))) float hardware_f16_to_f32(uint16_t code) {
  using Shorts = short __attribute__((vector_size(16)));
  return __builtin_ia32_vcvtph2ps(Shorts{static_cast<short>(code)})[0];
}

// Kernels use the instruction, scalar code does not: both must give equal bits.
TEST(QuantHalf, HardwareAgreesBitForBit) {
  __builtin_cpu_init();
  // clang 14 does not know the name "f16c"; CPUs with AVX2 have it.
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this CPU has no AVX2";
  for (uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<uint16_t>(code);
    ASSERT_EQ(bits_of(f16_to_f32(half)), bits_of(hardware_f16_to_f32(half))) << code;
  }
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1021) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(f32_to_f16(value), hardware_f32_to_f16(value)) << bits;
  }
}
#endif

}  // namespace
}  // namespace tenon::quant_test
