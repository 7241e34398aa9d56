// Readers of ours by themselves: EXIF blocks.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "decode/formats.h"

namespace tenon::decoding {
namespace {

/// An EXIF block with one entry; `order` is "II" or "MM".
std::string exif_block(const std::string& order, uint32_t tag, uint32_t type, uint32_t value,
                       uint32_t directory = 8, uint32_t count = 1) {
  std::string block = order;
  const auto put = [&](uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = order == "II" ? 8 * i : 8 * (bytes - 1 - i);
      block += static_cast<char>(number >> shift & 255);
    }
  };
  put(42, 2);
  put(directory, 4);
  put(count, 2);
  put(tag, 2);
  put(type, 2);
  put(1, 4);
  put(value, 2);
  put(0, 2);
  return block;
}

uint32_t orientation_of(const std::string& block) {
  return exif_orientation(std::as_bytes(std::span(block.data(), block.size())));
}

TEST(Exif, TellsOrientationInBothOrders) {
  for (const char* order : {"II", "MM"}) {
    for (uint32_t value = 1; value <= 8; ++value) {
      EXPECT_EQ(orientation_of(exif_block(order, 0x112, 3, value)), value) << order;
      EXPECT_EQ(orientation_of(std::string("Exif\0\0", 6) + exif_block(order, 0x112, 3, value)),
                value);
    }
  }
}

TEST(Exif, IsUprightIfItSaysNothingOrLies) {
  for (const uint32_t value : {0U, 9U, 65535U}) {
    EXPECT_EQ(orientation_of(exif_block("II", 0x112, 3, value)), 1U);
  }
  EXPECT_EQ(orientation_of(exif_block("II", 0x113, 3, 6)), 1U);
  EXPECT_EQ(orientation_of(exif_block("II", 0x112, 4, 6)), 1U);
  EXPECT_EQ(orientation_of(exif_block("XX", 0x112, 3, 6)), 1U);
  EXPECT_EQ(orientation_of(exif_block("II", 0x112, 3, 6, 0xFFFFFFFF)), 1U);
  EXPECT_EQ(orientation_of(exif_block("II", 0x112, 3, 6, 20)), 1U);
  // More entries than there are.
  EXPECT_EQ(orientation_of(exif_block("II", 0x112, 3, 6, 8, 65535)), 6U);
  const std::string whole = exif_block("MM", 0x112, 3, 6);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(orientation_of(whole.substr(0, size)), 1U) << size;
  }
}

}  // namespace
}  // namespace tenon::decoding
