// Every format decodes the stored vectors bit for bit.
#include "tests/quant/vectors.h"

#include <gtest/gtest.h>

#include <bit>

#include "quant/formats.h"

namespace tenon::quant_test {
namespace {

void expect_exact_decode(const std::filesystem::path& folder) {
  const std::vector<TypeLine> types = read_types(folder);
  ASSERT_EQ(types.size(), 27u) << folder;
  for (const TypeLine& type : types) {
    SCOPED_TRACE(type.name);
    const FormatInfo* info = find_format(type.id);
    ASSERT_NE(info, nullptr);
    ASSERT_NE(info->decode_row, nullptr);
    const std::vector<char> blocks = read_bytes(folder / (type.name + ".blocks"));
    const std::vector<float> expected = read_floats(folder / (type.name + ".f32"));
    ASSERT_GE(expected.size(), 512u);
    ASSERT_EQ(row_bytes(*info, expected.size()), blocks.size());

    // One byte off any alignment, as a file's bytes may be.
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

}  // namespace
}  // namespace tenon::quant_test
