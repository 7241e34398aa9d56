#include "base/byte_reader.h"

#include <array>

#include "tests/base/expect_error.h"

namespace tenon {
namespace {

using testing::HasSubstr;
constexpr auto kBytes = std::to_array<uint8_t>({1, 2, 3, 4, 5, 6, 7, 8, 9});

TEST(ByteReader, ReadsLittleEndian) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), "x", 100);
  EXPECT_EQ(reader.read<uint16_t>("a"), 0x0201);
  EXPECT_EQ(reader.read<uint32_t>("b"), 0x06050403u);
  EXPECT_EQ(reader.offset(), 106u);
  EXPECT_EQ(reader.remaining(), 3u);
}

TEST(ByteReader, NamesFilePlaceAndThingAtTheEnd) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), "x.bin", 100);
  reader.take(9, "all");
  EXPECT_EQ(reader.take(0, "nothing").size(), 0u);
  expect_error(Code::Format,
               HasSubstr("x.bin: ends at byte 109 inside count (needs 1 bytes at 109)"),
               [&] { reader.read<uint8_t>("count"); });
}

TEST(ByteReader, LengthNearTwoToThe64DoesNotWrap) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), "x");
  reader.take(5, "head");
  expect_error(Code::Format, HasSubstr("inside name"), [&] { reader.take(~uint64_t{0}, "name"); });
  EXPECT_EQ(reader.remaining(), 4u);
}

TEST(ByteReader, CountIsBoundedByWhatIsLeft) {
  ByteReader reader(std::as_bytes(std::span(kBytes)), "x");
  EXPECT_EQ(reader.check_count(3, 3, "tensors"), 3u);
  expect_error(Code::Limit, HasSubstr("tensors says 4"),
               [&] { reader.check_count(4, 3, "tensors"); });
}

}  // namespace
}  // namespace tenon
