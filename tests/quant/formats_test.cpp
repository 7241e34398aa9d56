// The table of formats: ids, names, sizes and refusals.
#include "quant/formats.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/quant/vectors.h"

namespace tenon::quant_test {
namespace {

TEST(QuantFormats, AgreeWithTheStoredList) {
  std::set<uint32_t> listed = {0};  // f32 has no vector
  for (const TypeLine& type : read_types(small_vectors())) {
    SCOPED_TRACE(type.name);
    const FormatInfo* info = find_format(type.id);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->name, type.name);
    EXPECT_EQ(info->block_values, type.block_values);
    EXPECT_EQ(info->block_bytes, type.block_bytes);
    EXPECT_TRUE(info->weight);
    listed.insert(type.id);
  }
  for (const FormatInfo& info : kFormats) {
    EXPECT_EQ(info.weight, listed.contains(static_cast<uint32_t>(info.id))) << info.name;
    EXPECT_EQ(info.weight, info.decode_row != nullptr) << info.name;
  }
}

TEST(QuantFormats, IdsAndNamesAreUniqueAndFindThemselves) {
  for (const FormatInfo& info : kFormats) {
    EXPECT_EQ(find_format(info.id), &info) << info.name;
    EXPECT_EQ(find_format(static_cast<uint32_t>(info.id)), &info) << info.name;
    EXPECT_EQ(find_format(std::string_view(info.name)), &info) << info.name;
  }
}

TEST(QuantFormats, NamesIgnoreCase) {
  EXPECT_EQ(find_format("Q4_K"), find_format(Format::Q4_K));
  EXPECT_EQ(find_format("q4_k"), find_format(Format::Q4_K));
  EXPECT_EQ(find_format("IQ2_XXS"), find_format(Format::IQ2_XXS));
  EXPECT_EQ(find_format("bF16"), find_format(Format::BF16));
}

TEST(QuantFormats, RemovedAndUnknownIdsAndNamesAreNothing) {
  for (const uint32_t id :
       {4u, 5u, 9u, 15u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 1000u, 4294967295u}) {
    EXPECT_EQ(find_format(id), nullptr) << id;
  }
  for (const char* name : {"", "q4", "q4_00", "q4_2", "q8_K", "f32 "}) {
    EXPECT_EQ(find_format(std::string_view(name)), nullptr) << name;
  }
}

TEST(QuantFormats, StorageTypesHaveSizesButNoCodec) {
  for (const auto& [format, bytes] :
       {std::pair{Format::I8, 1u}, std::pair{Format::I16, 2u}, std::pair{Format::I32, 4u},
        std::pair{Format::I64, 8u}, std::pair{Format::F64, 8u}}) {
    const FormatInfo* info = find_format(format);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info->block_values, 1u);
    EXPECT_EQ(info->block_bytes, bytes);
    EXPECT_EQ(info->encode_row, nullptr);
    EXPECT_FALSE(info->weight);
  }
}

TEST(QuantFormats, RowBytesRefusesPartBlocksAndOverflow) {
  const FormatInfo& q4_0 = *find_format(Format::Q4_0);
  EXPECT_EQ(row_bytes(q4_0, 0), 0u);
  EXPECT_EQ(row_bytes(q4_0, 32), 18u);
  EXPECT_EQ(row_bytes(q4_0, 64), 36u);
  EXPECT_EQ(row_bytes(q4_0, 31), std::nullopt);
  EXPECT_EQ(row_bytes(q4_0, 33), std::nullopt);
  EXPECT_EQ(row_bytes(q4_0, UINT64_MAX), std::nullopt);
  const FormatInfo& f32 = *find_format(Format::F32);
  EXPECT_EQ(row_bytes(f32, UINT64_MAX / 4), UINT64_MAX / 4 * 4);
  EXPECT_EQ(row_bytes(f32, UINT64_MAX / 4 + 1), std::nullopt);
  EXPECT_EQ(row_bytes(f32, UINT64_MAX), std::nullopt);
}

}  // namespace
}  // namespace tenon::quant_test
