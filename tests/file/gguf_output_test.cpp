// Files of GgufOutput, read back.
#include "file/gguf_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "file/open.h"
#include "tests/base/expect_error.h"
#include "tests/base/temp_folder.h"

namespace tenon {
namespace {

using testing::HasSubstr;

const std::vector<std::byte> kBytes(1024, std::byte{7});

std::span<const std::byte> first(uint64_t count) { return std::span(kBytes).first(count); }

TEST(GgufOutput, IsReadAsItWasWritten) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  const std::vector<std::string> words{"a", "", "\xc4\xa0t"};
  const std::vector<int32_t> numbers{-1, 7};
  GgufOutput out(System::real(), path);
  out.add("general.architecture", "llama");
  out.add("k.u32", uint32_t{4000000000});
  out.add("k.f32", 0.25f);
  out.add("k.bool", true);
  out.add("k.words", std::span(words));
  out.add("k.numbers", std::span(numbers));
  out.add_tensor("odd", std::vector<uint64_t>{3}, Format::F32);
  out.add_tensor("blocks", std::vector<uint64_t>{2, 3, 32}, Format::Q4_0);
  EXPECT_EQ(out.tensor_bytes(), 12u + 6 * 18);
  out.begin();
  out.write(first(12));
  out.write(first(100));
  out.write(first(8));
  out.commit();

  const auto file = open_model_file(path);
  const Metadata& read = file->metadata();
  EXPECT_EQ(read.get_string("general.architecture"), "llama");
  EXPECT_EQ(read.get_u32("k.u32"), 4000000000u);
  EXPECT_EQ(read.get_f32("k.f32"), 0.25f);
  EXPECT_TRUE(read.get<bool>("k.bool"));
  EXPECT_EQ(read.get<std::vector<int32_t>>("k.numbers"), numbers);
  ASSERT_EQ(read.get<StringArray>("k.words").size(), 3u);
  EXPECT_EQ(read.get<StringArray>("k.words")[2], "\xc4\xa0t");
  ASSERT_EQ(file->tensors().size(), 2u);
  const TensorInfo& blocks = *file->find("blocks");
  EXPECT_EQ(blocks.format, Format::Q4_0);
  EXPECT_EQ(blocks.rank, 3u);
  EXPECT_EQ(blocks.shape[0], 2u);
  EXPECT_EQ(blocks.shape[2], 32u);
  std::vector<std::byte> bytes(blocks.bytes);
  file->read(blocks, 0, bytes);
  EXPECT_EQ(bytes, std::vector<std::byte>(108, std::byte{7}));
}

TEST(GgufOutput, RefusesWhatNoFileCanHold) {
  const TempFolder folder;
  GgufOutput out(System::real(), folder.path("m.gguf"));
  const auto add = [&out](std::vector<uint64_t> shape, Format format) {
    out.add_tensor("t", shape, format);
  };
  expect_error(Code::Argument, HasSubstr("whole blocks of 32"), [&] {
    add({4, 31}, Format::Q4_0);
  });
  expect_error(Code::Argument, HasSubstr("0 dimensions"), [&] { add({}, Format::F32); });
  expect_error(Code::Argument, HasSubstr("5 dimensions"), [&] {
    add({1, 1, 1, 1, 1}, Format::F32);
  });
  expect_error(Code::Argument, HasSubstr("rows of 0"), [&] { add({4, 0}, Format::F32); });
  expect_error(Code::Argument, HasSubstr("overflows"), [&] {
    add({uint64_t{1} << 40, uint64_t{1} << 40}, Format::F32);
  });
  expect_error(Code::Argument, HasSubstr("cannot be written"), [&] {
    out.add_tensor(std::string(65, 'n'), std::vector<uint64_t>{1}, Format::F32);
  });
}

TEST(GgufOutput, AnIncompleteFileNeverAppears) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  {
    GgufOutput out(System::real(), path);
    out.add_tensor("t", std::vector<uint64_t>{8}, Format::F32);
    out.begin();
    out.write(first(31));
    expect_error(Code::Internal, HasSubstr("2 bytes for a tensor that lacks 1"),
                 [&] { out.write(first(2)); });
    expect_error(Code::Internal, HasSubstr("\"t\" lacks 1 bytes"), [&] { out.commit(); });
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace tenon
