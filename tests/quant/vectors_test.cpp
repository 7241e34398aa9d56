// Every format decodes the stored vectors bit for bit.
#include "tests/quant/vectors.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "quant/formats.h"

namespace tenon::quant_test {
namespace {

void expect_exact_decode(const std::filesystem::path& folder) {
  const std::vector<TypeLine> types = read_types(folder);
  ASSERT_GE(types.size(), 27u) << folder;
  for (const TypeLine& type : types) {
    SCOPED_TRACE(type.name);
    const FormatInfo* info = find_format(type.id);
    ASSERT_NE(info, nullptr);
    ASSERT_NE(info->decode_row, nullptr);
    const std::vector<char> blocks = read_bytes(folder / (type.name + ".blocks"));
    const std::vector<float> expected = read_floats(folder / (type.name + ".f32"));
    ASSERT_GE(expected.size(), 512u);
    ASSERT_EQ(row_bytes(*info, expected.size()), blocks.size());

    // Unaligned by a byte, as bytes of a file may be.
    std::vector<char> shifted(blocks.size() + 1);
    std::memcpy(shifted.data() + 1, blocks.data(), blocks.size());
    std::vector<float> decoded(expected.size() + 1, 12345.0f);
    info->decode_row(shifted.data() + 1, decoded.data(), expected.size());
    EXPECT_EQ(decoded.back(), 12345.0f) << "wrote past the row";
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(decoded[i]), std::bit_cast<uint32_t>(expected[i]))
          << "value " << i << ": " << decoded[i] << " instead of " << expected[i];
    }
  }
}

TEST(QuantVectors, SmallSetDecodesBitForBit) { expect_exact_decode(small_vectors()); }

TEST(QuantVectors, FullSetDecodesBitForBit) {
  if (!std::filesystem::exists(full_vectors())) {
    GTEST_SKIP() << "no " << full_vectors() << ": the small set stands alone";
  }
  expect_exact_decode(full_vectors());
}

// Files are not trusted: no byte pattern may reach outside a codebook or the row (run under ASan).
TEST(QuantVectors, AnyBytesDecodeWithoutLeavingTheRow) {
  std::mt19937 random(7);
  for (const FormatInfo& info : kFormats) {
    if (info.decode_row == nullptr) continue;
    SCOPED_TRACE(info.name);
    for (int round = 0; round < 200; ++round) {
      std::vector<unsigned char> block(info.block_bytes);
      for (unsigned char& byte : block) {
        byte = round < 2 ? static_cast<unsigned char>(round * 255)
                         : static_cast<unsigned char>(random());
      }
      std::vector<float> values(info.block_values + 1, 12345.0f);
      info.decode_row(block.data(), values.data(), info.block_values);
      ASSERT_EQ(values.back(), 12345.0f);
      std::vector<float> again(info.block_values);
      info.decode_row(block.data(), again.data(), info.block_values);
      ASSERT_EQ(std::memcmp(values.data(), again.data(), again.size() * sizeof(float)), 0);
    }
  }
}

TEST(QuantVectors, SignCodesHaveAnEvenNumberOfNegatives) {
  for (uint32_t code = 0; code < 128; ++code) {
    const uint8_t signs = expand_signs(code);
    EXPECT_EQ(signs & 127, code);
    EXPECT_EQ(std::popcount(static_cast<uint32_t>(signs)) % 2, 0) << code;
    EXPECT_EQ(odd_bits(code), static_cast<uint32_t>(std::popcount(code)) % 2) << code;
  }
}

TEST(QuantVectors, NoValuesTouchNothing) {
  for (const FormatInfo& info : kFormats) {
    if (info.decode_row != nullptr) info.decode_row(nullptr, nullptr, 0);
    if (info.encode_row != nullptr) info.encode_row(nullptr, nullptr, 0);
  }
}

}  // namespace
}  // namespace tenon::quant_test
