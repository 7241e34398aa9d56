#include "file/open.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/processor_time.h"
#include "tests/base/temp_folder.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using std::string_view_literals::operator""sv;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(Open, SaysWhatTheFileIsInstead) {
  struct Case {
    std::string_view begin;
    Code code;
    const char* message;
  };
  const std::string tail(64, 'x');
  for (const Case& c : {
           Case{"\x40\0\0\0\0\0\0\0{\"a\":"sv, Code::Unsupported, "safetensors"},
           Case{"\x40\0\0\0\0\0\0\0{\"a\":"sv, Code::Unsupported, "convert_hf_to_gguf.py"},
           Case{"GGUF\1\0\0\0"sv, Code::Unsupported, "fetch or convert the model again"},
           Case{"GGUF\4\0\0\0"sv, Code::Unsupported, "a newer version"},
           Case{"lmgg\1\0\0\0"sv, Code::Unsupported, "GGML"},
           Case{"tjgg\3\0\0\0"sv, Code::Unsupported, "GGJT"},
           Case{"PK\3\4"sv, Code::Unsupported, "ZIP"},
           Case{"\x80\2}q"sv, Code::Unsupported, "pickle"},
           Case{"\x1f\x8b\x08\0"sv, Code::Unsupported, "gzip"},
           Case{"version https://git-lfs.github.com/spec/v1"sv, Code::Format, "Git LFS"},
           Case{"<!DOCTYPE html>"sv, Code::Format, "web page"},
           Case{"{\"error\""sv, Code::Format, "JSON"},
           Case{"\x7f"
                "ELF"sv,
                Code::Format, "begins with 7f 45 4c 46"},
       }) {
    expect_error(c.code, AllOf(HasSubstr("test.gguf: "), HasSubstr(c.message)),
                 [&] { open_bytes(bytes_of(std::string(c.begin) + tail)); });
  }
  for (const std::string_view tiny : {""sv, "G"sv, "GGU"sv, "PK"sv}) {
    expect_error(Code::Format, HasSubstr("inside magic"), [&] { open_bytes(bytes_of(tiny)); });
  }
}

TEST(Open, OfAFolderNamesTheWay) {
  const TempFolder folder;
  const std::string path = folder.path("");
  expect_error(Code::Io, HasSubstr("is a folder without a GGUF file"),
               [&] { open_model_file(path); });
  folder.write("model.safetensors", std::string("{}"));
  expect_error(Code::Unsupported, HasSubstr("convert it to GGUF"), [&] { open_model_file(path); });
  folder.write("b.gguf", std::string("GGUF"));
  folder.write("a.gguf", std::string("GGUF"));
  expect_error(Code::Io, HasSubstr("name a file in it, as a.gguf"), [&] { open_model_file(path); });
  expect_error(Code::Io, HasSubstr("no such file"), [&] { open_model_file(path + "nowhere"); });
}

TEST(Open, EveryKindOfSourceGivesTheSame) {
  const TempFolder folder;
  const Bytes bytes = sample_gguf().finish();
  const std::string path = folder.write("m.gguf", bytes);
  Bytes framed(100);
  framed.insert(framed.end(), bytes.begin(), bytes.end());
  framed.resize(framed.size() + 100);
  const int fd = ::open(folder.write("f", framed).c_str(), O_RDONLY);
  const HostReader reader{const_cast<Bytes*>(&bytes), bytes.size(),
                          [](void* user, uint64_t offset, void* out, uint64_t size) -> int64_t {
                            std::memcpy(out, static_cast<Bytes*>(user)->data() + offset, size);
                            return static_cast<int64_t>(size);
                          }};
  const std::vector<std::shared_ptr<const ModelFile>> files{
      open_model_file(path),
      open_model_file(ByteSource::from_fd(fd, 100, bytes.size(), "range", System::real())),
      open_bytes(bytes),
      open_model_file(ByteSource::from_reader(reader, "reader")),
  };
  ::close(fd);
  for (const auto& file : files) {
    Bytes data(68);
    file->read(*file->find("b"), 0, data);
    EXPECT_EQ(data, counting_bytes(68)) << file->name();
    EXPECT_EQ(file->fingerprint(), files[0]->fingerprint()) << file->name();
  }
}

TEST(Open, FingerprintTellsModelsApart) {
  const Bytes bytes = sample_gguf().finish();
  GgufWriter other = sample_gguf();
  other.add("one.more", true);
  const Bytes other_bytes = other.finish();
  EXPECT_NE(open_bytes(bytes)->fingerprint(), open_bytes(other_bytes)->fingerprint());
}

TEST(Open, WhatIsNoRegularFileIsAnIoError) {
  const TempFolder folder;
  const std::string fifo = folder.path("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/zero"), std::string("/"),
                                  std::string("/proc/self/maps"), folder.path("missing")}) {
    expect_error(Code::Io, HasSubstr(path), [&] { open_model_file(path); });
  }
  expect_error(Code::Format, HasSubstr("ends at byte 0"),
               [&] { open_model_file(folder.write("empty.gguf", Bytes())); });
}

TEST(Open, UnreadableFileIsAnIoError) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", sample_gguf().finish());
  OpenOptions options;
  options.system = std::make_shared<FaultySystem>(0, EACCES);
  expect_error(Code::Io, HasSubstr("permission denied"),
               [&] { open_model_file(path, std::move(options)); });
}

TEST(Open, FileThatShrinksAfterOpeningIsAnIoError) {
  const TempFolder folder;
  const std::string path = folder.write("m.gguf", sample_gguf().finish());
  const auto file = open_model_file(path);
  std::filesystem::resize_file(path, 100);
  Bytes data(24);
  expect_error(Code::Io, HasSubstr("model file changed"),
               [&] { file->read(*file->find("a"), 0, data); });
}

TEST(Open, NothingGivenIsAnArgumentError) {
  expect_error(Code::Argument, HasSubstr("no source"),
               [] { open_model_file(std::span<const std::shared_ptr<const ByteSource>>{}); });
  expect_error(Code::Argument, HasSubstr("null"),
               [] { open_model_file(std::shared_ptr<const ByteSource>()); });
  OpenOptions options;
  options.overrides.push_back({"", MetadataValue::of(true)});
  expect_error(Code::Argument, HasSubstr("override"),
               [&] { open_bytes(sample_gguf().finish(), std::move(options)); });
}

TEST(Open, EveryFailingCallIsAnErrorAndLeaksNothing) {
  const TempFolder folder;
  GgufWriter writer = sample_gguf();
  writer.add("many", std::vector<std::string>(20000, "a token of some length"));
  const std::string path = folder.write("m.gguf", writer.finish());
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    bool threw = false;
    try {
      OpenOptions options;
      options.system = system;
      const auto file = open_model_file(path, std::move(options));
      Bytes data(68);
      file->read(*file->find("b"), 0, data);
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), ::testing::AnyOf(Code::Io, Code::NoMemory)) << error.what();
      threw = true;
    }
    EXPECT_EQ(threw, system->failed()) << "call " << n;
    EXPECT_TRUE(system->all_released()) << "call " << n;
    if (!system->failed()) {
      EXPECT_GT(n, 20u);
      break;
    }
  }
}

TEST(Open, HeaderOfALargeFileIsAllThatIsRead) {
  const TempFolder folder;
  GgufWriter writer = sample_gguf();
  writer.add_tensor("big", {8192, 1024}, Format::I8, Bytes(8 << 20));
  const std::string path = folder.write("m.gguf", writer.finish());
  OpenOptions options;
  const auto system = std::make_shared<FaultySystem>();
  options.system = system;
  const auto file = open_model_file(path, std::move(options));
  EXPECT_LE(system->bytes_read(), uint64_t{128} << 10);
}

uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A reader that claims 2^60 bytes and returns zeros after a given beginning: shows allocations for
/// any count or length without such a file.
struct EndlessHost {
  Bytes begin;
  uint64_t served = 0;

  HostReader reader() {
    return {this, uint64_t{1} << 60,
            [](void* user, uint64_t offset, void* out, uint64_t size) -> int64_t {
              auto& self = *static_cast<EndlessHost*>(user);
              self.served += size;
              if (self.served > (uint64_t{64} << 20)) return -1;
              std::memset(out, 0, size);
              if (offset < self.begin.size()) {
                const uint64_t count = std::min<uint64_t>(size, self.begin.size() - offset);
                std::memcpy(out, self.begin.data() + offset, count);
              }
              return static_cast<int64_t>(size);
            }};
  }
};

TEST(Open, LengthsThatOnlyTheSourceClaimsCostLittle) {
  const auto value_of = [](uint32_t element, uint64_t count) {
    return ByteWriter().put(element).put(count).bytes();
  };
  std::vector<GgufWriter> writers(6);
  writers[0].add_raw("k", ValueType::String, ByteWriter().put(uint64_t{1} << 59).bytes());
  writers[1].add_raw("k", ValueType::Array, value_of(8, uint64_t{1} << 50));
  writers[2].add_raw("k", ValueType::Array, value_of(8, uint64_t{100} << 20));
  writers[3].add_raw("k", ValueType::Array, value_of(0, uint64_t{1} << 50));
  writers[4].num_tensors = uint64_t{1} << 40;
  writers[5].num_keys = uint64_t{1} << 40;
  for (const GgufWriter& writer : writers) {
    EndlessHost host;
    host.begin = writer.finish();
    const auto source = ByteSource::from_reader(host.reader(), "endless");
    const uint64_t before = resident_bytes();
    try {
      open_model_file(source);
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_THAT(error.code(),
                  ::testing::AnyOf(Code::Format, Code::Limit, Code::Io, Code::NoMemory));
    }
    EXPECT_LT(resident_bytes(), before + (uint64_t{64} << 20));
  }
}

TEST(Open, TimeIsInProportionToTheFile) {
  // Four times the strings take about four times as long; a quadratic reader would take sixteen.
  const auto seconds = [](size_t count) {
    std::vector<std::string> strings(count, "token");
    GgufWriter writer;
    writer.add("tokens", strings);
    const Bytes bytes = writer.finish();
    return processor_seconds([&] { open_bytes(bytes); });
  };
  const double small = seconds(50'000);
  const double large = seconds(200'000);
  EXPECT_LE(large, small * 10);
}

TEST(Open, RealFiles) {
  if (!std::filesystem::exists(TENON_SHARED_DIR)) GTEST_SKIP() << "no shared test vectors";
  size_t num_files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_SHARED_DIR)) {
    // This folder also holds adapters and statistics.
    const bool of_formats = entry.path().string().find("/shared/formats/") != std::string::npos;
    if (entry.path().extension() != ".gguf" || of_formats) continue;
    ++num_files;
    const auto file = open_model_file(entry.path().string());
    EXPECT_FALSE(file->metadata().get_string("general.architecture").empty()) << entry.path();
    const bool is_projector = file->metadata().get_string("general.architecture") == "clip";
    if (!is_projector) {
      EXPECT_GT(file->metadata().get<StringArray>("tokenizer.ggml.tokens").size(), 100u);
    }
    for (const TensorInfo& tensor : file->tensors()) {
      Bytes last(1);
      file->read(tensor, tensor.bytes - 1, last);
      EXPECT_EQ(file->find(tensor.name), &tensor);
    }
  }
  EXPECT_GT(num_files, 0u);
}

}  // namespace
}  // namespace tenon
