#include "file/metadata.h"

#include <gmock/gmock.h>

#include "tests/base/expect_error.h"
#include "tests/file/sample_gguf.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class MetadataTest : public testing::Test {
 protected:
  const Bytes bytes_ = sample_gguf().finish();
  const std::shared_ptr<const ModelFile> file_ = open_bytes(bytes_);
  const Metadata& metadata_ = file_->metadata();
};

TEST_F(MetadataTest, ReadsEveryScalarType) {
  EXPECT_EQ(metadata_.get<uint32_t>("u8"), 200u);
  EXPECT_EQ(metadata_.get<int32_t>("i8"), -100);
  EXPECT_EQ(metadata_.get<uint32_t>("u16"), 60000u);
  EXPECT_EQ(metadata_.get<int32_t>("i16"), -30000);
  EXPECT_EQ(metadata_.get<uint32_t>("u32"), 4000000000u);
  EXPECT_EQ(metadata_.get<int32_t>("i32"), -2000000000);
  EXPECT_EQ(metadata_.get<uint64_t>("u64"), ~uint64_t{0});
  EXPECT_EQ(metadata_.get<int64_t>("i64"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(metadata_.get<float>("f32"), 1.5f);
  EXPECT_EQ(metadata_.get<double>("f64"), -2.25);
  EXPECT_TRUE(metadata_.get<bool>("bool"));
  EXPECT_EQ(metadata_.get<std::string_view>("string"), "text");
  EXPECT_EQ(metadata_.get<std::string_view>("empty"), "");
}

TEST_F(MetadataTest, ReadsEveryArrayType) {
  EXPECT_THAT(metadata_.get<std::vector<uint32_t>>("array.u8"), ElementsAre(1, 255));
  EXPECT_THAT(metadata_.get<std::vector<int32_t>>("array.i8"), ElementsAre(-1));
  EXPECT_THAT(metadata_.get<std::vector<uint32_t>>("array.u16"), ElementsAre(2));
  EXPECT_THAT(metadata_.get<std::vector<int32_t>>("array.i16"), ElementsAre(-2));
  EXPECT_THAT(metadata_.get<std::vector<uint32_t>>("array.u32"), ElementsAre(3, 4));
  EXPECT_THAT(metadata_.get<std::vector<int32_t>>("array.i32"), ElementsAre(-3));
  EXPECT_THAT(metadata_.get<std::vector<uint32_t>>("array.u64"), ElementsAre(5));
  EXPECT_THAT(metadata_.get<std::vector<int32_t>>("array.i64"), ElementsAre(-5));
  EXPECT_THAT(metadata_.get<std::vector<float>>("array.f32"), ElementsAre(0.5f));
  EXPECT_THAT(metadata_.get<std::vector<float>>("array.f64"), ElementsAre(0.25f));
  EXPECT_THAT(metadata_.get<std::vector<bool>>("array.bool"), ElementsAre(true, false));
  const auto strings = metadata_.get<StringArray>("array.string");
  ASSERT_EQ(strings.size(), 3u);
  EXPECT_EQ(strings[0], "one");
  EXPECT_EQ(strings[1], "");
  EXPECT_EQ(strings[2], "three");
  EXPECT_TRUE(metadata_.get<std::vector<uint32_t>>("array.empty").empty());
  EXPECT_TRUE(metadata_.get<StringArray>("array.no_strings").empty());
}

/// True if `get<T>(key)` works; else checks that the error names the wanted and the found type.
template <typename T>
bool readable(const Metadata& metadata, const std::string& key, const std::string& expected) {
  try {
    static_cast<void>(metadata.get<T>(key));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::Format);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("test.gguf: key \"" + key + "\": expected " + expected + ", got "),
                      HasSubstr(metadata.find_value(key)->type_name())));
    return false;
  }
}

TEST_F(MetadataTest, EveryAccessorRefusesEveryWrongType) {
  for (const Metadata::Entry& entry : metadata_.entries()) {
    SCOPED_TRACE(entry.key);
    const MetadataValue& value = entry.value;
    const bool array = value.type == ValueType::Array;
    const ValueType type = array ? value.element : value.type;
    const bool text = type == ValueType::String;
    const bool real = type == ValueType::F32 || type == ValueType::F64;
    const bool boolean = type == ValueType::Bool;
    const bool integer = !text && !real && !boolean;
    const bool wide = type == ValueType::U64 || type == ValueType::I64;
    EXPECT_EQ(readable<bool>(metadata_, entry.key, "bool"), !array && boolean);
    EXPECT_EQ(readable<float>(metadata_, entry.key, "f32"), !array && real);
    EXPECT_EQ(readable<double>(metadata_, entry.key, "f64"), !array && real);
    EXPECT_EQ(readable<std::string_view>(metadata_, entry.key, "string"), !array && text);
    EXPECT_EQ(readable<StringArray>(metadata_, entry.key, "array of string"), array && text);
    EXPECT_EQ(readable<std::vector<bool>>(metadata_, entry.key, "array of bool"), array && boolean);
    EXPECT_EQ(readable<std::vector<float>>(metadata_, entry.key, "array of f32"), array && real);
    if (integer && !array && !wide) {
      EXPECT_TRUE(readable<int64_t>(metadata_, entry.key, "i64"));
    }
    if (!integer || array) {
      EXPECT_FALSE(readable<uint32_t>(metadata_, entry.key, "u32"));
      EXPECT_FALSE(readable<int64_t>(metadata_, entry.key, "i64"));
    }
    if (!integer || !array) {
      EXPECT_FALSE(readable<std::vector<int32_t>>(metadata_, entry.key, "array of i32"));
    }
  }
}

TEST_F(MetadataTest, IntegersOutOfRangeAreRefused) {
  expect_error(Code::Format, HasSubstr("key \"i8\": -100 is outside 0..4294967295"),
               [&] { static_cast<void>(metadata_.get_u32("i8")); });
  expect_error(Code::Format, HasSubstr("18446744073709551615 is outside"),
               [&] { static_cast<void>(metadata_.get<int64_t>("u64")); });
  expect_error(Code::Format, HasSubstr("is outside"),
               [&] { static_cast<void>(metadata_.get<int32_t>("u32")); });
  expect_error(Code::Format, HasSubstr("is outside"),
               [&] { static_cast<void>(metadata_.get<std::vector<uint32_t>>("array.i64")); });
}

TEST_F(MetadataTest, MissingKeys) {
  expect_error(Code::Format, HasSubstr("test.gguf: key \"llama.block_count\" is missing"),
               [&] { static_cast<void>(metadata_.get_u32("llama.block_count")); });
  EXPECT_EQ(metadata_.find<uint32_t>("nothing"), std::nullopt);
  EXPECT_EQ(metadata_.get_or<uint32_t>("nothing", 7), 7u);
  EXPECT_EQ(metadata_.get_or<uint32_t>("u8", 7), 200u);
  expect_error(Code::Format, HasSubstr("expected u32, got string"),
               [&] { static_cast<void>(metadata_.find<uint32_t>("string")); });
}

TEST_F(MetadataTest, OneForAllOrOneForEach) {
  EXPECT_THAT(metadata_.get_u32_each("u8", 3), ElementsAre(200, 200, 200));
  EXPECT_THAT(metadata_.get_u32_each("array.u32", 2), ElementsAre(3, 4));
  expect_error(Code::Format, HasSubstr("key \"array.u32\": 2 values, expected 3"),
               [&] { static_cast<void>(metadata_.get_u32_each("array.u32", 3)); });
  expect_error(Code::Format, HasSubstr("is missing"),
               [&] { static_cast<void>(metadata_.get_u32_each("nothing", 3)); });
}

TEST_F(MetadataTest, OverridesReplaceAndAdd) {
  OpenOptions options;
  options.overrides.push_back(parse_metadata_override("string=int:-7"));
  options.overrides.push_back(parse_metadata_override("new=float:2.5"));
  options.overrides.push_back({"array.u32", MetadataValue::of("no array")});
  const auto file = open_bytes(bytes_, std::move(options));
  EXPECT_EQ(file->metadata().get<int32_t>("string"), -7);
  EXPECT_EQ(file->metadata().get<float>("new"), 2.5f);
  EXPECT_EQ(file->metadata().get_string("array.u32"), "no array");
  EXPECT_EQ(file->metadata().entries().size(), metadata_.entries().size() + 1);
}

TEST_F(MetadataTest, TextOfValues) {
  const auto text = [&](const char* key) { return metadata_text(*metadata_.find_value(key)); };
  EXPECT_EQ(text("u64"), "18446744073709551615");
  EXPECT_EQ(text("i8"), "-100");
  EXPECT_EQ(text("f32"), "1.5");
  EXPECT_EQ(text("bool"), "true");
  EXPECT_EQ(text("string"), "\"text\"");
  EXPECT_EQ(text("array.string"), "[\"one\", \"\", \"three\"]");
  EXPECT_EQ(metadata_text(*metadata_.find_value("array.u32"), 1), "[3, ... 2 in all]");
  EXPECT_EQ(text("array.empty"), "[]");
}

TEST(MetadataOverride, ParsesEachType) {
  EXPECT_EQ(parse_metadata_override("a.b=int:42").value.integer, 42u);
  EXPECT_EQ(parse_metadata_override("a.b=float:1e4").value.real, 1e4);
  EXPECT_EQ(parse_metadata_override("a.b=bool:false").value.integer, 0u);
  const MetadataOverride text = parse_metadata_override("a.b=str:x=y:z");
  EXPECT_EQ(text.key, "a.b");
  EXPECT_EQ(text.value.text, "x=y:z");
  EXPECT_EQ(parse_metadata_override("a=str:").value.text, "");
}

TEST(MetadataOverride, RefusesTheRest) {
  for (const char* text : {"", "a", "a=", "a=int", "=int:1", "a=int:", "a=int:1x", "a=int:1.5",
                           "a=int:9223372036854775808", "a=float:nan", "a=float:1e999",
                           "a=float:", "a=bool:1", "a=u32:1", "a=:1"}) {
    expect_error(Code::Argument, HasSubstr("override"), [&] { parse_metadata_override(text); });
  }
}

}  // namespace
}  // namespace tenon
