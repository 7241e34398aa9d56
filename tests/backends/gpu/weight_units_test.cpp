// Weights in units: every value of every format, decoded from its tile by the layout in
// weight_units.h, against the format's decoder.
#include "backends/gpu/weight_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backends/gpu/unit_products.h"
#include "quant/half.h"

namespace tenon::gpu {
namespace {

/// A tile of random rows, packed.
class WeightUnits : public testing::TestWithParam<Format> {
 protected:
  static constexpr uint64_t kColumns = 512 + 256;
  static constexpr uint32_t kRows = 13;  // the last three rows are missing

  WeightUnits() : columns_(format_.block_values == 256 ? kColumns : kColumns - 32) {
    std::vector<float> values(kRows * columns_);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = std::sin(static_cast<float>(i) * 1.7F) * static_cast<float>(1 + i / columns_);
    }
    const uint64_t row_bytes = columns_ / format_.block_values * format_.block_bytes;
    std::vector<std::byte> blocks(kRows * row_bytes);
    format_.encode_row(values.data(), blocks.data(), values.size());
    expected_.resize(values.size());
    format_.decode_row(blocks.data(), expected_.data(), values.size());
    units_.resize(tile_bytes(format_.id, columns_), std::byte{0xAA});
    pack_tile(format_.id, blocks.data(), kRows, columns_, units_.data(), factors_);
  }

  [[nodiscard]] uint32_t code(const std::byte* plane, uint32_t bits, uint32_t row,
                              uint32_t column) const {
    const CodePlace place = code_place(bits, row, column % kQuarterColumns);
    uint32_t word;
    std::memcpy(&word, plane + place.word * 4, 4);
    return word >> place.shift & ((1u << bits) - 1);
  }
  static float half_at(const std::byte* at) {
    uint16_t half;
    std::memcpy(&half, at, 2);
    return f16_to_f32(half);
  }

  [[nodiscard]] float value(uint32_t row, uint32_t column) const {
    const UnitLayout layout = unit_layout(format_.id);
    const std::byte* unit = units_.data() + column / kUnitColumns * layout.unit_bytes();
    const std::byte* quarter =
        unit + layout.head_bytes + column % kUnitColumns / kQuarterColumns * layout.quarter_bytes();
    const std::byte* high = quarter + plane_bytes(layout.low_bits);
    const std::byte* scales = high + plane_bytes(layout.high_bits);
    const uint32_t low = code(quarter, layout.low_bits, row, column);
    const uint32_t group = column % kQuarterColumns / 32;
    switch (format_.id) {
      case Format::F16:
      case Format::BF16:
        return f16_to_f32(static_cast<uint16_t>(low)) * factors_[row];
      case Format::Q8_0:
        return static_cast<float>(static_cast<int>(low) - 128) *
               half_at(scales + (row * 2 + group) * 2);
      case Format::Q4_K: {
        const auto* pair = reinterpret_cast<const uint8_t*>(scales) + (row * 2 + group) * 2;
        return half_at(unit + row * 4) * pair[0] * static_cast<float>(low) -
               half_at(unit + row * 4 + 2) * pair[1];
      }
      default: {
        const auto* scale = reinterpret_cast<const int8_t*>(scales) + row * 4;
        const uint32_t all = low | code(high, 2, row, column) << 4;
        return half_at(unit + row * 2) * scale[column % kQuarterColumns / 16] *
               static_cast<float>(static_cast<int>(all) - 32);
      }
    }
  }

  const FormatInfo& format_ = *find_format(GetParam());
  const uint64_t columns_;
  std::vector<float> expected_;
  std::vector<std::byte> units_;
  float factors_[kUnitRows];
};

TEST_P(WeightUnits, HoldEveryValue) {
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < columns_; ++column) {
      ASSERT_EQ(value(row, column), expected_[row * columns_ + column]) << row << ", " << column;
    }
  }
}

TEST_P(WeightUnits, AreZerosBeyondTheLastRowAndColumn) {
  for (uint32_t row = 0; row < kUnitRows; ++row) {
    for (uint32_t column = row < kRows ? columns_ : 0; column < kColumns; ++column) {
      ASSERT_EQ(value(row, column), 0) << row << ", " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, WeightUnits,
                         testing::Values(Format::F16, Format::BF16, Format::Q8_0, Format::Q4_K,
                                         Format::Q6_K),
                         [](const auto& test) {
                           return std::string(find_format(test.param)->name);
                         });

TEST(ColumnParts, CoverEveryUnitOnce) {
  for (const uint32_t multiprocessors : {1u, 4u, 108u, 132u}) {
    for (const uint64_t tiles : {1u, 3u, 64u, 224u, 256u, 8016u}) {
      for (uint64_t units = 1; units < 120; ++units) {
        const ColumnParts parts = column_parts(tiles, units, multiprocessors);
        EXPECT_GE(uint64_t{parts.units} * parts.parts, units);
        EXPECT_LT(uint64_t{parts.units} * (parts.parts - 1), units) << "no part is empty";
        EXPECT_LE(parts.parts_of_group, kMostPartsOfGroup);
        EXPECT_GE(parts.groups * parts.parts_of_group, parts.parts);
        EXPECT_LT((parts.groups - 1) * parts.parts_of_group, parts.parts);
      }
    }
  }
}

TEST(ColumnParts, KeepMultiprocessorsBusy) {
  // 4096 x 4096 on 132 multiprocessors: 256 tiles, two waves with a nearly full last one.
  EXPECT_EQ(column_parts(256, 16, 132).groups, 1u);
  // 1024 x 4096: 64 tiles leave half of them idle.
  EXPECT_EQ(column_parts(64, 16, 132).groups, 2u);
  // 3584 rows of 14336 columns: 224 tiles are 1.7 waves.
  EXPECT_EQ(column_parts(224, 56, 132).groups, 4u);
}

}  // namespace
}  // namespace tenon::gpu
