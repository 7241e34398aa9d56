#include "base/source_reader.h"

#include <fcntl.h>

#include <numeric>
#include <vector>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::HasSubstr;

std::vector<std::byte> pattern(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 251);
  return bytes;
}

TEST(SourceReader, ReadsAcrossPiecesLikeFromMemory) {
  const TempFolder folder;
  const auto bytes = pattern(3'000'001);
  const auto system = std::make_shared<FaultySystem>();
  const auto file = ByteSource::from_path(folder.write("a", bytes), system);
  const auto memory = ByteSource::from_memory(bytes, "memory");
  SourceReader a(*file, system);
  SourceReader b(*memory, system);
  std::vector<std::byte> from_a(70'000);
  std::vector<std::byte> from_b(70'000);
  for (uint64_t step = 0; a.remaining() > 200'000; ++step) {
    EXPECT_EQ(a.read<uint64_t>("x"), b.read<uint64_t>("x"));
    EXPECT_EQ(a.read<uint8_t>("x"), b.read<uint8_t>("x"));
    const uint64_t size = step * 9973 % 70'000;
    a.copy(std::span(from_a).first(size), "x");
    b.copy(std::span(from_b).first(size), "x");
    ASSERT_EQ(from_a, from_b);
    a.skip(size, "x");
    b.skip(size, "x");
    ASSERT_EQ(a.offset(), b.offset());
    ASSERT_TRUE(std::ranges::equal(a.take(100, "x"), b.take(100, "x")));
  }
}

TEST(SourceReader, ReadsLittleOfALargeFile) {
  const TempFolder folder;
  const auto system = std::make_shared<FaultySystem>();
  const auto file = ByteSource::from_path(folder.write("a", pattern(10'000'000)), system);
  SourceReader reader(*file, system);
  reader.read<uint32_t>("x");
  EXPECT_LE(system->bytes_read(), SourceReader::kFirstWindowBytes);
  reader.skip(9'000'000, "x");
  reader.read<uint32_t>("x");
  EXPECT_LE(system->bytes_read(), 3 * SourceReader::kFirstWindowBytes);
}

TEST(SourceReader, EndIsAnErrorNamingThePlace) {
  const auto bytes = pattern(10);
  const auto source = ByteSource::from_memory(bytes, "x.gguf");
  SourceReader reader(*source, System::real());
  reader.skip(8, "head");
  const std::string place = "x.gguf: ends at byte 10 inside tail";
  std::vector<std::byte> out(3);
  expect_error(Code::Format, HasSubstr(place), [&] { reader.read<uint32_t>("tail"); });
  expect_error(Code::Format, HasSubstr(place), [&] { reader.copy(out, "tail"); });
  expect_error(Code::Format, HasSubstr(place), [&] { reader.skip(~uint64_t{0}, "tail"); });
  expect_error(Code::Format, HasSubstr(place), [&] { reader.take(3, "tail"); });
  expect_error(Code::Format, HasSubstr(place), [&] { reader.check_length(3, "tail"); });
  EXPECT_EQ(reader.remaining(), 2u);
  reader.seek(0);
  EXPECT_EQ(reader.read<uint8_t>("x"), static_cast<uint8_t>(bytes[0]));
}

TEST(SourceReader, TakesNoMoreThanAWindow) {
  const auto bytes = pattern(SourceReader::kWindowBytes + 10);
  const auto source = ByteSource::from_memory(bytes, "x");
  SourceReader reader(*source, System::real());
  expect_error(Code::Limit, HasSubstr("the limit is"),
               [&] { reader.take(SourceReader::kWindowBytes + 1, "blob"); });
}

}  // namespace
}  // namespace tenon
