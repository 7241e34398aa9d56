// One safetensors file: what is read, and every rule that a file can break.
#include "file/safetensors.h"

#include <filesystem>

#include "tests/base/expect_error.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/file/safetensors_writer.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

SafetensorsContents read_text_file(const std::string& bytes) {
  const auto source = ByteSource::from_memory(std::as_bytes(std::span(bytes)), "m.safetensors");
  return read_safetensors(*source, System::real());
}

void refuse(Code code, const std::string& what, const std::string& bytes) {
  expect_error(code, AllOf(HasSubstr("m.safetensors"), HasSubstr(what)),
               [&] { read_text_file(bytes); });
}

/// A header of one tensor "a" with these values of its members.
std::string header_of(const std::string& type, const std::string& shape,
                      const std::string& offsets) {
  return R"({"a":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(Safetensors, ReadsDirectoryAndMetadata) {
  SafetensorsWriter writer;
  writer.metadata("format", "pt").add("second", "F32", {2, 3}, counting_text(24));
  writer.add("first", "BF16", {4}, counting_text(8)).add("none", "I64", {0, 7}, "");
  writer.add("scalar", "F64", {}, counting_text(8));
  const std::string bytes = writer.finish();
  const SafetensorsContents contents = read_text_file(bytes);
  ASSERT_EQ(contents.tensors.size(), 4u);
  EXPECT_EQ(contents.header_bytes, bytes.size() - 40);
  EXPECT_EQ(contents.metadata.at(0).first, "format");
  EXPECT_EQ(contents.metadata.at(0).second, "pt");
  const StoredTensor& second = contents.tensors[0];
  EXPECT_EQ(second.name, "second");
  EXPECT_EQ(second.text(), "[2, 3] F32");
  EXPECT_EQ(second.num_values(), 6u);
  EXPECT_EQ(second.offset, contents.header_bytes);
  EXPECT_EQ(second.bytes, 24u);
  const StoredTensor& first = contents.tensors[1];
  EXPECT_EQ(first.text(), "[4] BF16");
  EXPECT_EQ(first.dim(0), 4u);
  EXPECT_EQ(first.dim(1), 1u);
  EXPECT_EQ(contents.tensors[2].num_values(), 0u);
  EXPECT_EQ(contents.tensors[3].text(), "[] F64");
  EXPECT_EQ(contents.tensors[3].num_values(), 1u);
}

TEST(Safetensors, KnowsTheTypesOfElements) {
  const std::pair<const char*, uint64_t> types[] = {
      {"BOOL", 8},        {"U8", 8},         {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
      {"F8_E8M0", 8},     {"I16", 16},       {"U16", 16}, {"F16", 16},    {"BF16", 16},
      {"I32", 32},        {"U32", 32},       {"F32", 32}, {"I64", 64},    {"U64", 64},
      {"F64", 64},        {"C64", 64},       {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};
  for (const auto& [name, bits] : types) {
    SafetensorsWriter writer;
    writer.add("a", name, {4}, counting_text(bits * 4 / 8));
    const SafetensorsContents contents = read_text_file(writer.finish());
    EXPECT_EQ(contents.tensors.at(0).bytes, bits * 4 / 8) << name;
    EXPECT_EQ(contents.tensors.at(0).text(), std::string("[4] ") + name);
  }
  refuse(Code::Unsupported, "dtype \"Q4\" is unknown",
         safetensors_file(header_of("\"Q4\"", "[2]", "[0,8]"), counting_text(8)));
  refuse(Code::Format, "4 bits are no whole bytes",
         safetensors_file(header_of("\"F4\"", "[1]", "[0,1]"), counting_text(1)));
}

TEST(Safetensors, EndsInsideEveryPart) {
  SafetensorsWriter writer;
  writer.metadata("k", "v").add("a", "F32", {2}, counting_text(8)).add("b", "U8", {3}, "xyz");
  const std::string whole = writer.finish();
  EXPECT_EQ(read_text_file(whole).tensors.size(), 2u);
  for (size_t size = 0; size < whole.size(); ++size) {
    refuse(Code::Format, size < 8 ? "the length of the header" : "", whole.substr(0, size));
  }
  refuse(Code::Format, "the tensors end at byte", whole + "x");
  refuse(Code::Format, "download is probably incomplete", whole.substr(0, whole.size() - 1));
}

TEST(Safetensors, LengthOfTheHeaderIsBounded) {
  std::string file = safetensors_file("{}", "");
  EXPECT_EQ(read_text_file(file).tensors.size(), 0u);
  for (const uint64_t length : {uint64_t{3}, uint64_t{1} << 63, ~uint64_t{0}}) {
    std::memcpy(file.data(), &length, sizeof(length));
    refuse(Code::Format, "the header has", file);
  }
  refuse(Code::Format, "does not begin with '{'", safetensors_file(" {}", ""));
  refuse(Code::Format, "does not begin with '{'", safetensors_file("", "{}"));
  EXPECT_EQ(read_text_file(safetensors_file("{}  \n", "")).tensors.size(), 0u);
  // A sparse file, so that it takes no room.
  const TempFolder temp;
  const std::string path = temp.path("m.safetensors");
  const uint64_t length = kMaxSafetensorsHeaderBytes + 1;
  temp.write("m.safetensors", std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
  std::filesystem::resize_file(path, length + 8);
  expect_error(Code::Limit, HasSubstr("the limit is 100000000"), [&] {
    read_safetensors(*ByteSource::from_path(path, System::real()), System::real());
  });
}

TEST(Safetensors, OffsetsCoverTheFile) {
  const auto two = [](const std::string& first, const std::string& second) {
    return safetensors_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                                R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second +
                                "}}",
                            counting_text(8));
  };
  EXPECT_EQ(read_text_file(two("[4,8]", "[0,4]")).tensors[0].name, "b");
  refuse(Code::Format, "they overlap", two("[0,4]", "[2,6]"));
  refuse(Code::Format, "they overlap", two("[0,4]", "[0,4]"));
  refuse(Code::Format, "a hole", two("[0,4]", "[5,9]"));
  refuse(Code::Format, "a hole", two("[1,5]", "[5,9]"));
  const std::string whole = two("[0,4]", "[4,8]");
  refuse(Code::Format, "incomplete", whole.substr(0, whole.size() - 2));
  refuse(Code::Format, "its offsets are 4 to 0", two("[4,0]", "[0,4]"));
  refuse(Code::Format, "which takes 4 bytes, but its offsets are 0 to 5", two("[0,5]", "[4,8]"));
  refuse(Code::Format, "overflows", two("[18446744073709551610,18446744073709551614]", "[0,4]"));
}

TEST(Safetensors, ShapesDoNotOverflow) {
  const auto shaped = [](const std::string& type, const std::string& shape) {
    return safetensors_file(header_of(type, shape, "[0,8]"), counting_text(8));
  };
  refuse(Code::Format, "overflows", shaped("\"U8\"", "[4294967296,4294967296]"));
  refuse(Code::Format, "overflows", shaped("\"U8\"", "[2305843009213693953,8]"));
  refuse(Code::Format, "overflows", shaped("\"F64\"", "[2305843009213693953]"));
  refuse(Code::Limit, "9 dimensions, the limit is 8", shaped("\"U8\"", "[1,1,1,1,1,1,1,1,8]"));
  EXPECT_EQ(read_text_file(shaped("\"U8\"", "[1,1,1,1,1,1,1,8]")).tensors[0].rank, 8u);
}

TEST(Safetensors, NamesAndMetadataAreChecked) {
  const std::string entry = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  refuse(Code::Format, "name is empty", safetensors_file(R"({"":)" + entry + "}", ""));
  refuse(Code::Format, "a zero byte", safetensors_file(R"({"a\u0000b":)" + entry + "}", ""));
  refuse(Code::Limit, "1025 bytes, the limit is 1024",
         safetensors_file("{\"" + std::string(1025, 'n') + "\":" + entry + "}", ""));
  refuse(Code::Format, "the value of \"n\" is no text",
         safetensors_file(R"({"__metadata__":{"n":1}})", ""));
  refuse(Code::Format, "is no object", safetensors_file(R"({"__metadata__":[]})", ""));
  refuse(Code::Format, "is there twice",
         safetensors_file(R"({"__metadata__":{"a":"b"},"__metadata__":{"a":"b"}})", ""));
}

TEST(Safetensors, FailuresOfTheSystemAreReported) {
  const TempFolder temp;
  SafetensorsWriter writer;
  writer.add("a", "F32", {2}, counting_text(8));
  const std::string path = temp.write("m.safetensors", writer.finish());
  for (uint64_t n = 0;; ++n) {
    const auto system = std::make_shared<FaultySystem>(n);
    bool done = false;
    try {
      const auto source = ByteSource::from_path(path, system);
      EXPECT_EQ(read_safetensors(*source, system).tensors.size(), 1u);
      done = true;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::Io || error.code() == Code::NoMemory) << error.what();
    }
    EXPECT_TRUE(system->all_released()) << n;
    if (!system->failed()) {
      EXPECT_TRUE(done);
      EXPECT_GT(n, 4u);
      break;
    }
  }
}

/// The stored files of the container, good and bad, where they are.
TEST(Safetensors, StoredFilesAreReadOrRefusedByTheirNames) {
  const std::filesystem::path folder =
      std::filesystem::path(TENON_SHARED_DIR) / "formats" / "vectors" / "container";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared test vectors";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    // Two tensors of one name are found where files are joined.
    if (name == "bad_duplicate_key.safetensors") continue;
    bool good = true;
    try {
      read_safetensors(*ByteSource::from_path(entry.path().string(), System::real()),
                       System::real());
    } catch (const Error&) {
      good = false;
    }
    EXPECT_EQ(good, name.starts_with("ok_")) << name;
    ++count;
  }
  EXPECT_GE(count, 18u);
}

}  // namespace
}  // namespace tenon
