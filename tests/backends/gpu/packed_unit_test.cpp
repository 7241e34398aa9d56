// Units of codes: positions against the tables of the instruction set; every format split and
// joined again.
#include "backends/gpu/packed_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/block_codes.h"

namespace tenon::gpu {
namespace {

// PTX ISA 8, "Matrix Fragments for mma.m16n8k16 with floating point type", A: groupID = lane >> 2,
// row = groupID for a_i with i < 2 or 4 <= i < 6, else groupID + 8; column = (lane % 4) * 2 + (i &
// 1), + 8 for i >= 4.
TEST(PackedUnit, LanesHoldTheValuesThatTheInstructionTakes) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t i = 0; i < kStepValues; ++i) {
      const uint32_t group = lane >> 2;
      const uint32_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
      const uint32_t column = lane % 4 * 2 + (i & 1) + (i >= 4 ? 8 : 0);
      const FragmentPlace place = fragment_place(row, column);
      EXPECT_EQ(place.lane, lane);
      EXPECT_EQ(place.value, i);
    }
  }
}

TEST(PackedUnit, EveryBitOfAPlaneBelongsToOneCode) {
  for (const uint32_t bits : {1u, 2u, 4u, 8u, 16u}) {
    std::set<std::pair<uint32_t, uint32_t>> places;
    for (uint32_t i = 0; i < kQuarterValues; ++i) {
      const CodePlace place = code_place(bits, i / kQuarterColumns, i % kQuarterColumns);
      EXPECT_LT(place.word, plane_bytes(bits) / 4);
      EXPECT_EQ(place.shift % bits, 0u);
      EXPECT_LE(place.shift + bits, 32u);
      places.insert({place.word, place.shift});
    }
    EXPECT_EQ(places.size(), kQuarterValues) << bits;
  }
}

TEST(PackedUnit, AMaskAndAShiftTakeOutThePairsOfAWord) {
  // Row 0 of the first step: lane 0 has columns 0, 1 (values 0, 1) and 8, 9 (values 4, 5).
  std::array<uint32_t, kQuarterValues> codes{};
  codes[0] = 0x3;
  codes[1] = 0x5;
  codes[8] = 0x7;
  codes[9] = 0x9;
  std::vector<uint32_t> plane(plane_bytes(4) / 4);
  pack_plane(4, codes, plane);
  EXPECT_EQ(plane[0] & 0x000F000Fu, 0x00050003u);
  EXPECT_EQ(plane[0] >> 8 & 0x000F000Fu, 0x00090007u);
}

TEST(PackedUnit, ALaneLoadsItsStepsSideBySide) {
  // A quarter of 4 bits is one load, of 8 bits two loads of two steps, of 16 bits a load per step.
  EXPECT_EQ(code_place(4, 0, 48).word, 3u);
  EXPECT_EQ(code_place(8, 0, 32).word, kLanes * kLoadBytes / 4);
  EXPECT_EQ(code_place(16, 0, 16).word, kLanes * kLoadBytes / 4);
  EXPECT_EQ(code_place(4, 1, 0).word, 4 * kLoadBytes / 4);  // row 1 is lane 4
  EXPECT_EQ(code_place(2, 1, 0).word, 4 * 2u);              // with 2 bits a lane has 8 bytes
}

TEST(PackedUnit, PlanesComeBackAsTheyWere) {
  std::array<uint32_t, kQuarterValues> codes{};
  for (uint32_t i = 0; i < kQuarterValues; ++i) codes[i] = i * 2654435761u >> 16;
  for (const uint32_t bits : {1u, 2u, 4u, 8u, 16u}) {
    std::vector<uint32_t> plane(plane_bytes(bits) / 4);
    pack_plane(bits, codes, plane);
    std::array<uint32_t, kQuarterValues> back{};
    unpack_plane(bits, plane, back);
    for (uint32_t i = 0; i < kQuarterValues; ++i) {
      ASSERT_EQ(back[i], codes[i] & ((1u << bits) - 1)) << bits << ", " << i;
    }
  }
}

class BlockCodes : public testing::TestWithParam<Format> {
 protected:
  const FormatInfo& format_ = *find_format(GetParam());
};

TEST_P(BlockCodes, AreTakenOutAndPutBackBitByBit) {
  const uint32_t bits = code_bits(format_.id).total();
  std::vector<std::byte> block(format_.block_bytes);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(37 * i + 11);
  const std::vector<std::byte> original = block;
  std::vector<uint32_t> codes(format_.block_values);
  take_codes(format_, block.data(), codes.data());
  for (const uint32_t code : codes) EXPECT_EQ(code >> bits, 0u);
  // The scales remain, without any bit of the codes.
  std::vector<std::byte> empty = block;
  std::vector<uint32_t> none(format_.block_values);
  take_codes(format_, empty.data(), none.data());
  EXPECT_EQ(none, std::vector<uint32_t>(format_.block_values));
  put_codes(format_, codes.data(), block.data());
  EXPECT_EQ(block, original);
}

/// Codes match the decoder: changing a code changes its value only.
TEST_P(BlockCodes, AreThoseOfTheDecoder) {
  std::vector<float> values(format_.block_values);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) - 3.1F;
  std::vector<std::byte> block(format_.block_bytes);
  format_.encode_row(values.data(), block.data(), values.size());
  std::vector<float> before(format_.block_values);
  format_.decode_row(block.data(), before.data(), before.size());
  std::vector<uint32_t> codes(format_.block_values);
  std::vector<std::byte> scales = block;
  take_codes(format_, scales.data(), codes.data());
  for (uint32_t v = 0; v < format_.block_values; ++v) {
    std::vector<uint32_t> changed = codes;
    changed[v] ^= 1;
    std::vector<std::byte> other = scales;
    put_codes(format_, changed.data(), other.data());
    std::vector<float> after(format_.block_values);
    format_.decode_row(other.data(), after.data(), after.size());
    for (uint32_t i = 0; i < format_.block_values; ++i) {
      EXPECT_EQ(before[i] != after[i], i == v) << v << ", " << i;
    }
  }
}

std::vector<Format> formats_with_codes() {
  std::vector<Format> formats;
  for (const FormatInfo& info : kFormats) {
    if (info.weight && code_bits(info.id).total() > 0) formats.push_back(info.id);
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockCodes, testing::ValuesIn(formats_with_codes()),
                         [](const auto& test) {
                           return std::string(find_format(test.param)->name);
                         });

}  // namespace
}  // namespace tenon::gpu
