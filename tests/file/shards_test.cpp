#include "file/shards.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Shard `number` (from 0) of `count`, holding one tensor "t<number>" of 8 bytes.
GgufWriter shard(uint16_t number, uint16_t count, int32_t num_tensors) {
  GgufWriter writer;
  if (number == 0) writer.add("general.architecture", "llama");
  writer.add("split.no", number).add("split.count", count);
  writer.add("split.tensors.count", num_tensors);
  writer.add_tensor(fmt::format("t{}", number), {8}, Format::I8, Bytes(8, std::byte(number)));
  return writer;
}

std::string shard_name(int number, int count) {
  return fmt::format("m-{:05}-of-{:05}.gguf", number + 1, count);
}

class Shards : public testing::Test {
 protected:
  void write(int number, const GgufWriter& writer) {
    folder_.write(shard_name(number, 3), writer.finish());
  }
  void write_three() {
    for (uint16_t i = 0; i < 3; ++i) write(i, shard(i, 3, 3));
  }
  std::string path(int number) const { return folder_.path(shard_name(number, 3)); }

  TempFolder folder_;
};

TEST_F(Shards, OpenByThePathOfAny) {
  write_three();
  for (int i = 0; i < 3; ++i) {
    const auto file = open_model_file(path(i));
    ASSERT_EQ(file->tensors().size(), 3u);
    EXPECT_EQ(file->metadata().get_string("general.architecture"), "llama");
    for (int t = 0; t < 3; ++t) {
      const TensorInfo* tensor = file->find(fmt::format("t{}", t));
      ASSERT_NE(tensor, nullptr);
      Bytes bytes(8);
      file->read(*tensor, 0, bytes);
      EXPECT_EQ(bytes, Bytes(8, std::byte(t)));
      EXPECT_EQ(file->sources()[tensor->source]->name(), path(t));
    }
  }
}

TEST_F(Shards, OpenFromSourcesInAnyOrder) {
  std::vector<Bytes> bytes;
  for (uint16_t i = 0; i < 3; ++i) bytes.push_back(shard(i, 3, 3).finish());
  std::vector<std::shared_ptr<const ByteSource>> sources;
  for (const int i : {2, 0, 1}) {
    sources.push_back(
        ByteSource::from_memory(bytes[static_cast<size_t>(i)], "s" + std::to_string(i)));
  }
  const auto file = open_model_file(sources);
  EXPECT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->name(), "s0");
  EXPECT_EQ(file->tensors()[2].name, "t2");

  sources.pop_back();
  expect_error(Code::Format, HasSubstr("is one of 3 parts, but 2 were given"),
               [&] { open_model_file(sources); });
  sources.push_back(sources.front());
  expect_error(Code::Format, HasSubstr("s2: is part 3 of 3, and so is s2"),
               [&] { open_model_file(sources); });
}

TEST_F(Shards, MissingFileIsNamed) {
  write_three();
  std::filesystem::remove(path(1));
  expect_error(Code::Format,
               AllOf(HasSubstr("m-00002-of-00003.gguf"), HasSubstr("part 2 of 3 is missing")),
               [&] { open_model_file(path(0)); });
}

TEST_F(Shards, DuplicateIsNamed) {
  write_three();
  write(2, shard(1, 3, 3));
  expect_error(Code::Format,
               AllOf(HasSubstr("m-00003-of-00003.gguf: is part 2 of 3, and so is"),
                     HasSubstr("m-00002-of-00003.gguf")),
               [&] { open_model_file(path(0)); });
}

TEST_F(Shards, ForeignShardIsNamed) {
  const auto third = HasSubstr("m-00003-of-00003.gguf");
  write_three();
  write(2, shard(2, 4, 3));
  expect_error(Code::Format, AllOf(third, HasSubstr("is one of 4 parts")),
               [&] { open_model_file(path(0)); });
  write(2, shard(2, 3, 5));
  expect_error(Code::Format, AllOf(third, HasSubstr("another model"), HasSubstr("is 5, not 3")),
               [&] { open_model_file(path(0)); });
  GgufWriter other = shard(2, 3, 3);
  other.add("general.architecture", "qwen2");
  write(2, other);
  expect_error(Code::Format, AllOf(third, HasSubstr("\"qwen2\", not \"llama\"")),
               [&] { open_model_file(path(0)); });
  write(2, sample_gguf());
  expect_error(Code::Format, AllOf(third, HasSubstr("is one of 1 parts")),
               [&] { open_model_file(path(0)); });
}

TEST_F(Shards, TensorsMustBeAsManyAsStatedAndDiffer) {
  for (uint16_t i = 0; i < 3; ++i) write(i, shard(i, 3, 4));
  expect_error(Code::Format, HasSubstr("the 3 parts hold 3 tensors, expected 4"),
               [&] { open_model_file(path(0)); });
  write_three();
  GgufWriter twin;
  twin.add("split.no", uint16_t{2}).add("split.count", uint16_t{3});
  twin.add("split.tensors.count", int32_t{3});
  twin.add_tensor("t0", {8}, Format::I8, Bytes(8));
  write(2, twin);
  expect_error(Code::Format,
               AllOf(HasSubstr("m-00003-of-00003.gguf: tensor \"t0\" is there twice")),
               [&] { open_model_file(path(0)); });
}

TEST_F(Shards, BrokenShardIsNamed) {
  write_three();
  Bytes bytes = shard(1, 3, 3).finish();
  bytes.resize(50);
  folder_.write(shard_name(1, 3), bytes);
  expect_error(Code::Format, HasSubstr("m-00002-of-00003.gguf: ends at byte 50"),
               [&] { open_model_file(path(0)); });
}

TEST_F(Shards, NameMustFollowThePattern) {
  for (const char* name : {"m.gguf", "m-00001-of-00004.gguf", "m-0001-of-00003.gguf",
                           "-00001-of-00003.ggu", "m-0000x-of-00003.gguf"}) {
    const std::string path = folder_.write(name, shard(0, 3, 3).finish());
    expect_error(Code::Format, HasSubstr("-of-00003.gguf"), [&] { open_model_file(path); });
  }
}

TEST_F(Shards, WrongKeysAreFormatErrors) {
  GgufWriter number = shard(0, 1, 1);
  EXPECT_NO_THROW(open_bytes(number.finish()));
  GgufWriter beyond = shard(7, 3, 3);
  expect_error(Code::Format, HasSubstr("is one of 3 parts, but 1"),
               [&] { open_bytes(beyond.finish()); });
  GgufWriter text;
  text.add("split.count", "3");
  expect_error(Code::Format, HasSubstr("expected u32, got string"),
               [&] { open_bytes(text.finish()); });
  GgufWriter many;
  many.add("split.count", ~uint32_t{0});
  expect_error(Code::Format, HasSubstr("4294967295 is above"), [&] { open_bytes(many.finish()); });
  GgufWriter merged;
  merged.add("split.count", uint16_t{0});
  EXPECT_NO_THROW(open_bytes(merged.finish()));
}

TEST_F(Shards, EveryFailingCallIsAnErrorAndLeaksNothing) {
  write_three();
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    bool threw = false;
    try {
      OpenOptions options;
      options.system = system;
      open_model_file(path(0), std::move(options));
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), testing::AnyOf(Code::Io, Code::NoMemory)) << error.what();
      threw = true;
    }
    // Testing whether a shard exists may fail harmlessly; opening it decides.
    EXPECT_TRUE(threw || !system->failed() || n > 0) << "call " << n;
    EXPECT_TRUE(system->all_released()) << "call " << n;
    if (!system->failed()) break;
  }
}

}  // namespace
}  // namespace tenon
