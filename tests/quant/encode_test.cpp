// Encoders: as good as the stored reference blocks, and sane on every kind of finite block.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "quant/formats.h"
#include "tests/quant/vectors.h"

namespace tenon::quant_test {
namespace {

std::vector<float> round_trip(const FormatInfo& info, const std::vector<float>& values) {
  std::vector<char> blocks(row_bytes(info, values.size()).value());
  std::vector<float> decoded(values.size());
  info.encode_row(values.data(), blocks.data(), values.size());
  info.decode_row(blocks.data(), decoded.data(), values.size());
  return decoded;
}

/// The error on the source may exceed that of the reference's blocks by 5 %.
void expect_good_encoders(const std::filesystem::path& folder) {
  const std::vector<float> source = read_floats(folder / "source.f32");
  ASSERT_GE(source.size(), 512u);
  for (const TypeLine& type : read_types(folder)) {
    const FormatInfo& info = *find_format(type.id);
    if (info.encode_row == nullptr) continue;
    const double reference = relative_rmse(source, read_floats(folder / (type.name + ".f32")));
    const double ours = relative_rmse(source, round_trip(info, source));
    EXPECT_LE(ours, 1.05 * reference) << type.name;
    ::testing::Test::RecordProperty(
        type.name, std::to_string(ours) + " reference " + std::to_string(reference));
  }
}

TEST(QuantEncode, SmallSetIsAsGoodAsTheReference) { expect_good_encoders(small_vectors()); }

TEST(QuantEncode, FullSetIsAsGoodAsTheReference) {
  if (!std::filesystem::exists(full_vectors())) {
    GTEST_SKIP() << "no " << full_vectors() << ": the small set stands alone";
  }
  expect_good_encoders(full_vectors());
}

/// Runs `check` for each format with an encoder, on a row of 512 values.
void for_each_encoder(const std::function<void(const FormatInfo&)>& check) {
  int count = 0;
  for (const FormatInfo& info : kFormats) {
    if (info.encode_row == nullptr) continue;
    SCOPED_TRACE(info.name);
    check(info);
    ++count;
  }
  EXPECT_GE(count, 28);
}

/// True for formats whose smallest magnitude is a large part of the largest.
bool lacks_zero(Format format) {
  for (const Format other : {Format::Q1_0, Format::IQ1_S, Format::IQ1_M, Format::IQ2_XXS,
                             Format::IQ2_XS, Format::IQ2_S, Format::IQ3_XXS, Format::IQ3_S}) {
    if (format == other) return true;
  }
  return false;
}

TEST(QuantEncode, ZerosStayZeros) {
  for_each_encoder([](const FormatInfo& info) {
    for (const float value : round_trip(info, std::vector<float>(512, 0.0f))) {
      ASSERT_EQ(value, 0.0f);
    }
  });
}

TEST(QuantEncode, NegativeZerosAreZeros) {
  for_each_encoder([](const FormatInfo& info) {
    for (const float value : round_trip(info, std::vector<float>(512, -0.0f))) {
      ASSERT_EQ(value, 0.0f);
    }
  });
}

TEST(QuantEncode, OneOutlierInZerosSurvives) {
  for_each_encoder([](const FormatInfo& info) {
    if (lacks_zero(info.id)) return;
    for (const size_t place : {0u, 5u, 31u, 255u, 256u, 511u}) {
      for (const float outlier : {3.0f, -3.0f}) {
        std::vector<float> values(512, 0.0f);
        values[place] = outlier;
        const std::vector<float> decoded = round_trip(info, values);
        ASSERT_NEAR(decoded[place], outlier, 0.15f) << place;
        for (size_t i = 0; i < values.size(); ++i) {
          if (i == place) continue;
          ASSERT_NEAR(decoded[i], 0.0f, 0.05f) << place << ", " << i;
        }
      }
    }
  });
}

TEST(QuantEncode, TernaryValuesAreExact) {
  std::vector<float> values(512);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.75f * static_cast<float>(static_cast<int>(i * i / 3 % 3) - 1);
  }
  for (const Format format : {Format::TQ1_0, Format::TQ2_0, Format::Q2_0}) {
    EXPECT_EQ(round_trip(*find_format(format), values), values) << find_format(format)->name;
  }
}

TEST(QuantEncode, EncodingDecodedValuesAgainLosesAlmostNothing) {
  const std::vector<float> source = read_floats(small_vectors() / "source.f32");
  for_each_encoder([&](const FormatInfo& info) {
    const std::vector<float> once = round_trip(info, source);
    const std::vector<float> twice = round_trip(info, once);
    EXPECT_LE(relative_rmse(once, twice), 0.5 * relative_rmse(source, once) + 1e-6);
  });
}

TEST(QuantEncode, LargestAndSmallestValuesGiveFiniteValues) {
  const float largest = std::numeric_limits<float>::max();
  const float denormal = std::numeric_limits<float>::denorm_min();
  for_each_encoder([&](const FormatInfo& info) {
    if (info.id == Format::F16 || info.id == Format::BF16) return;  // overflow to infinity (IEEE)
    for (const float scale : {largest, 1e38f, 65504.0f, 1e-7f, 1e-20f, 1e-38f, denormal}) {
      std::vector<float> values(512);
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = i % 3 == 0 ? scale : i % 3 == 1 ? -scale : 0.0f;
      }
      for (const float value : round_trip(info, values)) ASSERT_TRUE(std::isfinite(value)) << scale;
    }
  });
}

TEST(QuantEncode, ConstantBlocksKeepTheirValue) {
  for_each_encoder([](const FormatInfo& info) {
    // A power-of-two scale leaves gaps of a third between the two largest values.
    const float tolerance = info.id == Format::MXFP4 ? 0.2f : 0.05f;
    for (const float constant : {1.0f, -1.0f, 0.02f, -300.0f}) {
      for (const float value : round_trip(info, std::vector<float>(512, constant))) {
        ASSERT_NEAR(value, constant, tolerance * std::fabs(constant));
      }
    }
  });
}

TEST(QuantEncode, NotANumberDoesNotSpreadOutOfItsBlock) {
  for_each_encoder([](const FormatInfo& info) {
    std::vector<float> values(512, 0.5f);
    values[3] = std::numeric_limits<float>::quiet_NaN();
    values[4] = std::numeric_limits<float>::infinity();
    const std::vector<float> decoded = round_trip(info, values);
    for (size_t i = 256; i < 512; ++i) ASSERT_TRUE(std::isfinite(decoded[i])) << i;
  });
}

TEST(QuantEncode, KScalesSurvivePacking) {
  KScale scales[8];
  for (int shift = 0; shift < 64; ++shift) {
    for (int s = 0; s < 8; ++s) scales[s] = {(shift + 9 * s) % 64, (63 - shift + 23 * s) % 64};
    uint8_t packed[12];
    write_k_scales(scales, packed);
    for (int s = 0; s < 8; ++s) {
      EXPECT_EQ(read_k_scale(packed, s).scale, scales[s].scale);
      EXPECT_EQ(read_k_scale(packed, s).minimum, scales[s].minimum);
    }
  }
}

}  // namespace
}  // namespace tenon::quant_test
