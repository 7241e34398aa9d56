// Weights in a shader's layout: every format converted back, and blocks at word boundaries.
#include "backends/gpu/weight_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "program/operations.h"

namespace tenon::gpu {
namespace {

class WeightRows : public testing::TestWithParam<Format> {
 protected:
  const FormatInfo& format_ = *find_format(GetParam());
};

/// Bytes without short repetitions.
std::vector<std::byte> numbered_bytes(uint64_t count) {
  std::vector<std::byte> bytes(count);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(1 + i * 7 % 251);
  return bytes;
}

TEST_P(WeightRows, AreTheBlocksOfTheFileAtWholeWords) {
  for (const uint64_t blocks : {1, 2, 3, 7}) {
    SCOPED_TRACE(blocks);
    const uint64_t columns = blocks * format_.block_values;
    const std::vector<std::byte> file = numbered_bytes(blocks * format_.block_bytes);
    // Writes the whole row, and nothing else.
    constexpr auto kUntouched = std::byte{0xEE};
    const uint64_t stride = row_stride(format_, columns);
    std::vector<std::byte> row(stride + kWordBytes, kUntouched);
    pack_row(format_, file.data(), columns, row.data());
    EXPECT_EQ(stride % kWordBytes, 0u);
    for (uint64_t i = stride; i < row.size(); ++i) EXPECT_EQ(row[i], kUntouched);
    for (uint64_t b = 0; b < blocks; ++b) {
      const uint64_t at = b * block_stride(format_);
      if (format_.block_values > 1) {
        EXPECT_EQ(at % kWordBytes, 0u);
      }
      for (uint64_t i = 0; i < format_.block_bytes; ++i) {
        EXPECT_EQ(row[at + i], file[b * format_.block_bytes + i]) << b << ", " << i;
      }
    }
    std::vector<std::byte> back(file.size());
    unpack_row(format_, row.data(), columns, back.data());
    EXPECT_EQ(back, file);
  }
}

TEST_P(WeightRows, AreFilledWithZeros) {
  const uint64_t columns = 3 * format_.block_values;
  const std::vector<std::byte> file = numbered_bytes(3 * format_.block_bytes);
  std::vector<std::byte> row(row_stride(format_, columns), std::byte{0xEE});
  pack_row(format_, file.data(), columns, row.data());
  uint64_t zeros = 0;
  for (const std::byte byte : row) zeros += byte == std::byte{0} ? 1 : 0;
  EXPECT_EQ(zeros, row.size() - file.size());
}

std::vector<Format> all_formats() {
  std::vector<Format> formats;
  for (const FormatInfo& info : kFormats) {
    if (info.weight && !is_memory_format(info.id)) formats.push_back(info.id);
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, WeightRows, testing::ValuesIn(all_formats()),
                         [](const auto& test) {
                           return std::string(find_format(test.param)->name);
                         });

TEST(SmallWeights, AreThoseThatSomeOperationUsesAsTheyAre) {
  ProgramBuilder b;
  const Slot table = b.weight("table", Format::F16, 10, 64);
  const Slot scale = b.weight("scale", Format::F16, 1, 64);
  const Slot bias = b.weight("bias", Format::F16, 1, 10);
  const Slot x = op::rms_norm(b, op::embed(b, table), scale, 1e-5f);
  const Slot logits = op::gather_rows(b, op::linear(b, x, table, bias));
  const Program program = std::move(b).finish(logits, {4, 4});
  const auto is_small = [&](Slot slot) {
    return is_small_weight(program.view(), static_cast<uint32_t>(slot));
  };
  EXPECT_FALSE(is_small(table));
  EXPECT_TRUE(is_small(scale));
  EXPECT_TRUE(is_small(bias));
}

}  // namespace
}  // namespace tenon::gpu
