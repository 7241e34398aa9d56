#include <gmock/gmock.h>

#include "tests/base/expect_error.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
constexpr uint64_t kHuge = uint64_t{1} << 63;

void expect_refused(Code code, const testing::Matcher<const std::string&>& message,
                    const RawTensor& tensor) {
  GgufWriter writer = sample_gguf();
  writer.add_raw_tensor(tensor);
  expect_error(code, AllOf(HasSubstr("test.gguf: "), message),
               [&] { open_bytes(writer.finish()); });
}

TEST(GgufTensors, ShapesAreOutermostFirst) {
  const Bytes bytes = sample_gguf().finish();
  const auto file = open_bytes(bytes);
  const TensorInfo* b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->format, Format::Q8_0);
  EXPECT_EQ(b->rank, 2u);
  EXPECT_THAT(b->shape, ElementsAre(2, 32, 1, 1));
  EXPECT_EQ(b->row_values(), 32u);
  EXPECT_EQ(b->num_values(), 64u);
  EXPECT_EQ(b->bytes, 68u);
  EXPECT_EQ(b->text(), "[2, 32] q8_0");
  EXPECT_EQ(file->find("bb"), nullptr);
  EXPECT_EQ(file->find(""), nullptr);
  EXPECT_EQ(file->tensor_bytes(), 24u + 68 + 10);
}

TEST(GgufTensors, ReadsAnyPart) {
  const Bytes bytes = sample_gguf().finish();
  const auto file = open_bytes(bytes);
  const TensorInfo& b = *file->find("b");
  Bytes part(3);
  file->read(b, 65, part);
  EXPECT_THAT(part, ElementsAre(std::byte{65}, std::byte{66}, std::byte{67}));
  expect_error(Code::Argument, HasSubstr("tensor \"b\": 3 bytes at 66"),
               [&] { file->read(b, 66, part); });
  expect_error(Code::Argument, HasSubstr("tensor \"b\""),
               [&] { file->read(b, ~uint64_t{0}, part); });
}

TEST(GgufTensors, EveryFormatHasItsSize) {
  for (const FormatInfo& format : kFormats) {
    if (is_memory_format(format.id)) continue;
    GgufWriter writer;
    const Bytes bytes = counting_bytes(size_t{6} * format.block_bytes);
    writer.add_tensor("t", {3, uint64_t{2} * format.block_values}, format.id, bytes);
    const Bytes file_bytes = writer.finish();
    const auto file = open_bytes(file_bytes);
    Bytes data(bytes.size());
    ASSERT_EQ(file->find("t")->bytes, bytes.size()) << format.name;
    file->read(*file->find("t"), 0, data);
    EXPECT_EQ(data, bytes) << format.name;
  }
}

TEST(GgufTensors, RefusesUnknownAndRemovedTypes) {
  for (const uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 255u, 1024u, 1031u, ~0u}) {
    expect_refused(Code::Unsupported, HasSubstr(fmt::format("tensor \"t\": type {}", type)),
                   {"t", {32}, type, {}, Bytes(64), {}});
  }
}

TEST(GgufTensors, RefusesBadShapes) {
  expect_refused(Code::Format, HasSubstr("tensor \"t\": dimension 1 is 0"),
                 {"t", {4, 0}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("dimension 0 is -1"),
                 {"t", {~uint64_t{0}, 1}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("tensor \"t\": 5 dimensions"),
                 {"t", {1, 1, 1, 1, 1}, 0, {}, Bytes(4), {}});
  expect_refused(Code::Format, HasSubstr("tensor \"t\": 0 dimensions"),
                 {"t", {}, 0, {}, Bytes(4), {}});
  expect_refused(Code::Format, HasSubstr("4294967295 dimensions"),
                 {"t", {1}, 0, {}, Bytes(4), ~0u});
  expect_refused(Code::Format,
                 HasSubstr("tensor \"t\": rows of 33 values are no whole blocks of 32"),
                 {"t", {33, 2}, 8, {}, Bytes(128), {}});
}

TEST(GgufTensors, RefusesSizesThatWrap) {
  // Products that wrap to a small number of elements, of bytes, or only after padding.
  const std::vector<std::vector<uint64_t>> shapes{
      {uint64_t{1} << 32, uint64_t{1} << 32},
      {uint64_t{1} << 62, 4},
      {(uint64_t{1} << 62) + 1},
      {kHuge - 1, kHuge - 1, kHuge - 1, kHuge - 1},
      {uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16, uint64_t{1} << 16},
      {(~uint64_t{0} / 4) & ~uint64_t{31}, 1},
  };
  for (const auto& shape : shapes) {
    expect_refused(Code::Format, HasSubstr("tensor \"t\""), {"t", shape, 0, {}, Bytes(64), {}});
  }
  expect_refused(Code::Format, HasSubstr("tensor \"t\""),
                 {"t", {kHuge - 32, 3}, 24, {}, Bytes(64), {}});
}

TEST(GgufTensors, RefusesSumsThatWrap) {
  GgufWriter writer;
  const uint64_t almost = (kHuge - 1) / 32 * 32;
  writer.add_raw_tensor({"t", {almost}, 24, 0, Bytes(64), {}});
  writer.add_raw_tensor({"u", {almost}, 24, almost, Bytes(64), {}});
  writer.add_raw_tensor({"v", {64}, 24, ~uint64_t{31}, Bytes(64), {}});
  expect_error(Code::Format, HasSubstr("tensor \""), [&] { open_bytes(writer.finish()); });
  GgufWriter last;
  last.add_raw_tensor({"v", {64}, 24, ~uint64_t{31}, Bytes(64), {}});
  expect_error(Code::Format, HasSubstr("tensor \"v\""), [&] { open_bytes(last.finish()); });
}

TEST(GgufTensors, RefusesBadNames) {
  expect_refused(Code::Format, HasSubstr("tensor \"a\" is there twice"),
                 {"a", {4}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("name of tensor 3 is empty"),
                 {"", {4}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("name of tensor 3 has 65 bytes"),
                 {std::string(65, 'n'), {4}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("name of tensor 3 \"\\xff\""),
                 {"\xff", {4}, 0, {}, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("\"a\\x00\""),
                 {std::string("a\0", 2), {4}, 0, {}, Bytes(16), {}});
}

TEST(GgufTensors, RefusesBadOffsets) {
  expect_refused(Code::Format,
                 HasSubstr("tensor \"t\": offset 161 is no multiple of the alignment 32"),
                 {"t", {4}, 0, 161, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("tensor \"t\" begins at byte"),
                 {"t", {4}, 0, 64, Bytes(16), {}});
  expect_refused(Code::Format, AllOf(HasSubstr("begins at byte"), HasSubstr("inside tensor")),
                 {"t", {40}, 0, 0, Bytes(160), {}});
  expect_refused(Code::Format,
                 AllOf(HasSubstr("tensor \"t\" ends at byte"),
                       HasSubstr("the download is probably incomplete")),
                 {"t", {4}, 0, uint64_t{1} << 40, Bytes(16), {}});
  expect_refused(Code::Format, HasSubstr("tensor \"t\" ends at byte"),
                 {"t", {1000}, 0, {}, Bytes(16), {}});
}

TEST(GgufTensors, AcceptsAnyOrderAndGaps) {
  GgufWriter writer;
  writer.add_raw_tensor({"second", {4}, 0, 64, counting_bytes(16), {}});
  writer.add_raw_tensor({"first", {4}, 0, 0, Bytes(64), {}});
  const Bytes bytes = writer.finish();
  EXPECT_EQ(open_bytes(bytes)->tensors().size(), 2u);
}

TEST(GgufTensors, ErrorGivesBothNumbers) {
  const Bytes whole = sample_gguf().finish();
  // The file without its padding, "c" and a part of the padding before it.
  const Bytes bytes(whole.begin(), whole.end() - 40);
  expect_error(Code::Format,
               AllOf(HasSubstr("test.gguf: tensor \"c\" ends at byte"),
                     HasSubstr(fmt::format("but the file has {}; the download", bytes.size()))),
               [&] { open_bytes(bytes); });
}

}  // namespace
}  // namespace tenon
