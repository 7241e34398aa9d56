// Packed weights hold exactly their blocks' contents, for every format and number of rows.
#include "backends/cpu/layouts/panels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "quant/formats.h"

namespace tenon::cpu {
namespace {

/// Rows of random values in a format; empty if it has no encoder.
std::vector<uint8_t> encoded_rows(const FormatInfo& format, uint64_t rows, uint64_t depth,
                                  uint32_t seed) {
  std::vector<uint8_t> blocks(rows * *row_bytes(format, depth));
  std::mt19937 random(seed);
  std::normal_distribution<float> values;
  std::vector<float> row(depth);
  for (uint64_t r = 0; r < rows; ++r) {
    uint8_t* place = blocks.data() + r * *row_bytes(format, depth);
    // Some encoders are slow: rows past the fifth repeat the first ones.
    if (r >= 5) {
      std::memcpy(place, blocks.data() + r % 5 * *row_bytes(format, depth),
                  *row_bytes(format, depth));
      continue;
    }
    for (float& v : row) v = values(random);
    format.encode_row(row.data(), place, depth);
  }
  return blocks;
}

TEST(Panels, EveryRowReadsBackExactly) {
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.encode_row == nullptr) continue;
    SCOPED_TRACE(format.name);
    for (const uint64_t rows : {1u, 15u, 16u, 17u, 33u}) {
      const uint64_t depth = format.block_values == 1 ? 37 : 3 * format.block_values;
      const std::vector<uint8_t> blocks = encoded_rows(format, rows, depth, 7);
      const PanelFormat& layout = panel_format(format.id);
      std::vector<uint8_t> packed(packed_bytes(layout, format, rows, depth));
      const PackedWeight weight{&layout, &format, rows, depth, packed.data()};
      // In two calls, like the loader.
      const uint64_t first = std::min<uint64_t>(rows, layout.panel_rows);
      const uint64_t bytes = *row_bytes(format, depth);
      pack_rows(weight, 0, first, blocks.data());
      pack_rows(weight, first, rows - first, blocks.data() + first * bytes);
      std::vector<float> want(depth), got(depth);
      for (uint64_t r = 0; r < rows; ++r) {
        format.decode_row(blocks.data() + r * bytes, want.data(), depth);
        unpack_row(weight, r, got.data());
        ASSERT_EQ(std::memcmp(want.data(), got.data(), depth * sizeof(float)), 0) << "row " << r;
      }
    }
  }
}

TEST(Panels, ExtremeBlocksReadBackExactly) {
  // Every bit pattern of the integer part must survive: random bytes with finite scales.
  std::mt19937 random(11);
  for (const FormatInfo& format : kFormats) {
    if (!format.weight || format.block_values == 1) continue;
    const PanelFormat& layout = panel_format(format.id);
    if (layout.kind == PanelKind::Raw) continue;
    SCOPED_TRACE(format.name);
    std::vector<uint8_t> blocks(16 * 2 * format.block_bytes);
    for (uint8_t& b : blocks) b = static_cast<uint8_t>(random());
    const uint64_t depth = 2 * format.block_values;
    std::vector<uint8_t> packed(packed_bytes(layout, format, 16, depth));
    const PackedWeight weight{&layout, &format, 16, depth, packed.data()};
    pack_rows(weight, 0, 16, blocks.data());
    std::vector<float> want(depth), got(depth);
    for (uint64_t r = 0; r < 16; ++r) {
      format.decode_row(blocks.data() + r * 2 * format.block_bytes, want.data(), depth);
      unpack_row(weight, r, got.data());
      for (uint64_t k = 0; k < depth; ++k) {
        if (std::isnan(want[k])) {
          ASSERT_TRUE(std::isnan(got[k]));
        } else {
          ASSERT_EQ(want[k], got[k]) << "row " << r << " value " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenon::cpu
