#include "file/gguf.h"

#include <gmock/gmock.h>

#include "tests/base/expect_error.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_refused(Code code, const testing::Matcher<const std::string&>& message,
                    const GgufWriter& writer) {
  expect_error(code, AllOf(HasSubstr("test.gguf: "), message),
               [&] { open_bytes(writer.finish()); });
}

TEST(Gguf, OpensBothVersions) {
  for (const uint32_t version : {2u, 3u}) {
    GgufWriter writer = sample_gguf();
    writer.version = version;
    const Bytes bytes = writer.finish();
    const auto file = open_bytes(bytes);
    EXPECT_EQ(file->tensors().size(), 3u);
    EXPECT_EQ(file->metadata().get_string("general.architecture"), "llama");
  }
}

TEST(Gguf, EmptyFileOfNoKeysAndNoTensors) {
  const Bytes bytes = GgufWriter().finish();
  const auto file = open_bytes(bytes);
  EXPECT_TRUE(file->tensors().empty());
  EXPECT_TRUE(file->metadata().entries().empty());
}

TEST(Gguf, RefusesEveryPrefix) {
  const Bytes bytes = sample_gguf().finish();  // ends with 10 bytes of "c" and 22 of padding
  EXPECT_NO_THROW(open_bytes(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Bytes prefix(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    try {
      open_bytes(prefix);
      ADD_FAILURE() << "opened with " << size << " of " << bytes.size() << " bytes";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Format) << size << ": " << error.what();
      EXPECT_THAT(error.what(), HasSubstr("ends at byte")) << size;
    }
  }
}

TEST(Gguf, RefusesTinyFilesSayingWhere) {
  const Bytes bytes = sample_gguf().finish();
  const auto first = [&](size_t n) {
    return Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
  };
  expect_error(Code::Format, HasSubstr("ends at byte 0 inside magic"),
               [&] { open_bytes(first(0)); });
  expect_error(Code::Format, HasSubstr("ends at byte 4 inside version"),
               [&] { open_bytes(first(4)); });
  expect_error(Code::Format, HasSubstr("ends at byte 23 inside number of keys"),
               [&] { open_bytes(first(23)); });
}

TEST(Gguf, RefusesOtherMagicsAndVersions) {
  GgufWriter writer = sample_gguf();
  writer.magic = 0x12345678;
  expect_refused(Code::Format, HasSubstr("begins with 78 56 34 12"), writer);
  writer.magic = 0x47475546;
  expect_refused(Code::Unsupported, HasSubstr("big-endian"), writer);
  writer = sample_gguf();
  for (const uint32_t version : {0u, 1u, 4u, 99u, ~0u}) {
    writer.version = version;
    expect_refused(
        Code::Unsupported,
        AllOf(HasSubstr(fmt::format("version {}", version)), testing::Not(HasSubstr("big-endian"))),
        writer);
  }
  for (const uint32_t version : {2u, 3u}) {
    writer.version = __builtin_bswap32(version);
    expect_refused(Code::Unsupported, HasSubstr("big-endian"), writer);
  }
}

TEST(Gguf, RefusesCountsBeyondAnyModel) {
  for (const uint64_t count :
       {~uint64_t{0}, uint64_t{1} << 62, uint64_t{1'000'000'000}, uint64_t{1} << 63}) {
    GgufWriter writer = sample_gguf();
    writer.num_tensors = count;
    expect_refused(Code::Limit, HasSubstr(fmt::format("number of tensors is {}", count)), writer);
    writer = sample_gguf();
    writer.num_keys = count;
    expect_refused(Code::Limit, HasSubstr(fmt::format("number of keys is {}", count)), writer);
  }
}

TEST(Gguf, RefusesModestCountsThatTheFileCannotHold) {
  GgufWriter writer = sample_gguf();
  writer.num_tensors = 1000;
  expect_refused(Code::Format, HasSubstr("inside the 1000 tensors"), writer);
  writer = sample_gguf();
  writer.num_keys = 1000;
  expect_refused(Code::Format, HasSubstr("inside the 1000 keys"), writer);
}

TEST(Gguf, RefusesCountsAboveOurLimits) {
  ByteWriter header;
  header.put<uint32_t>(0x46554747).put<uint32_t>(3);
  ByteWriter keys = header;
  keys.put<uint64_t>(0).put<uint64_t>(65537);
  keys.put_bytes(Bytes(65537 * 14));
  expect_error(Code::Limit, HasSubstr("number of keys is 65537, the limit is 65536"),
               [&] { open_bytes(keys.bytes()); });
  header.put<uint64_t>(262145).put<uint64_t>(0);
  header.put_bytes(Bytes(262145 * 33));
  expect_error(Code::Limit, HasSubstr("number of tensors is 262145, the limit is 262144"),
               [&] { open_bytes(header.bytes()); });
}

TEST(Gguf, RefusesKeyLengthsBeyondTheFile) {
  for (const uint64_t length : {~uint64_t{0}, uint64_t{1} << 40, uint64_t{1'000'000'000}}) {
    ByteWriter file;
    file.put<uint32_t>(0x46554747).put<uint32_t>(3).put<uint64_t>(0).put<uint64_t>(1);
    file.put(length).put_bytes(Bytes(100));
    expect_error(Code::Format, HasSubstr("inside key 0: its length exceeds the file"),
                 [&] { open_bytes(file.bytes()); });
  }
}

TEST(Gguf, RefusesStringLengthsBeyondTheFile) {
  for (const uint64_t length : {~uint64_t{0}, uint64_t{1} << 40, uint64_t{1'000'000'000}}) {
    GgufWriter writer;
    writer.add_raw("general.name", ValueType::String, ByteWriter().put(length).bytes());
    expect_refused(
        Code::Format,
        AllOf(HasSubstr("value of key \"general.name\""), HasSubstr("length exceeds the file")),
        writer);
  }
}

TEST(Gguf, RefusesBadKeys) {
  const auto with_key = [](std::string_view key) {
    GgufWriter writer;
    writer.add("first", uint32_t{1});
    writer.add(key, uint32_t{1});
    return writer;
  };
  using std::string_view_literals::operator""sv;
  expect_refused(Code::Format, HasSubstr("key 1 is empty"), with_key(""));
  expect_refused(Code::Format, HasSubstr("\"first\" is there twice"), with_key("first"));
  expect_refused(Code::Format, HasSubstr("key 1 \"a\\x00b\" holds a zero byte"),
                 with_key("a\0b"sv));
  for (const std::string_view key : {"\xff"sv, "a\xc3"sv, "\xed\xa0\x80"sv, "\xc0\xaf"sv}) {
    expect_refused(Code::Format, AllOf(HasSubstr("key 1 "), HasSubstr("is not UTF-8")),
                   with_key(key));
  }
  expect_refused(Code::Format, HasSubstr("key 1 has 65536 bytes"),
                 with_key(std::string(65536, 'k')));
}

TEST(Gguf, RefusesUnknownValueTypes) {
  for (const uint32_t type : {13u, 255u, ~0u}) {
    GgufWriter writer;
    writer.add_raw("k", static_cast<ValueType>(type), Bytes(64));
    expect_refused(Code::Unsupported,
                   HasSubstr(fmt::format("value of key \"k\": type {} is unknown", type)), writer);
  }
}

GgufWriter with_array(uint32_t element, uint64_t count, size_t num_bytes) {
  GgufWriter writer;
  ByteWriter value;
  value.put(element).put(count).put_bytes(Bytes(num_bytes));
  writer.add_raw("k", ValueType::Array, value.bytes());
  return writer;
}

TEST(Gguf, RefusesArraysBeyondTheFile) {
  for (uint32_t element = 0; element <= 12; ++element) {
    if (element == static_cast<uint32_t>(ValueType::Array)) continue;
    for (const uint64_t count :
         {~uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 61, uint64_t{129}}) {
      expect_refused(Code::Format,
                     AllOf(HasSubstr("key \"k\""), HasSubstr("its length exceeds the file")),
                     with_array(element, count, 128));
    }
  }
}

TEST(Gguf, RefusesStringsInArraysBeyondTheFile) {
  GgufWriter writer;
  ByteWriter value;
  value.put<uint32_t>(8).put<uint64_t>(2).put_string("ok").put(~uint64_t{0}).put<uint64_t>(0);
  writer.add_raw("k", ValueType::Array, value.bytes());
  expect_refused(Code::Format, AllOf(HasSubstr("key \"k\""), HasSubstr("length exceeds the file")),
                 writer);
}

TEST(Gguf, RefusesNestedAndUnknownArrays) {
  expect_refused(Code::Unsupported, HasSubstr("key \"k\": arrays of arrays"), with_array(9, 1, 64));
  expect_refused(Code::Unsupported, HasSubstr("key \"k\": type 77 is unknown"),
                 with_array(77, 1, 64));
}

TEST(Gguf, RefusesBoolsThatAreNeither) {
  GgufWriter writer;
  writer.add_raw("k", ValueType::Bool, Bytes(1, std::byte{2}));
  expect_refused(Code::Format, HasSubstr("key \"k\": bool is 2"), writer);
  GgufWriter array;
  ByteWriter value;
  value.put<uint32_t>(7).put<uint64_t>(2).put<uint8_t>(1).put<uint8_t>(255);
  array.add_raw("k", ValueType::Array, value.bytes());
  expect_refused(Code::Format, HasSubstr("key \"k\": bool is 255"), array);
}

TEST(Gguf, RefusesBadAlignments) {
  for (const uint32_t alignment : {0u, 3u, 33u, 1u << 31, ~0u}) {
    GgufWriter writer = sample_gguf();
    writer.add("general.alignment", alignment);
    expect_refused(Code::Format, HasSubstr(fmt::format("\"general.alignment\": {}", alignment)),
                   writer);
  }
  GgufWriter writer = sample_gguf();
  writer.add("general.alignment", "32");
  expect_refused(Code::Format, HasSubstr("expected u32, got string"), writer);
}

TEST(Gguf, HonoursAlignment) {
  for (const uint32_t alignment : {1u, 8u, 64u, 4096u}) {
    GgufWriter writer = sample_gguf();
    writer.alignment = alignment;
    writer.add("general.alignment", alignment);
    const Bytes bytes = writer.finish();
    const auto file = open_bytes(bytes);
    Bytes data(68);
    file->read(*file->find("b"), 0, data);
    EXPECT_EQ(data, counting_bytes(68)) << alignment;
  }
}

}  // namespace
}  // namespace tenon
