// Events of JSON texts: their order, kinds of numbers, faults with their places, and stops.
#include "json/json_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace tenon {
namespace {

/// Writes the events down; the reading ends after `most` of them.
class Record final : public JsonEvents {
 public:
  explicit Record(size_t most = 1'000'000) : most_(most) {}

  bool null() override { return note("null"); }
  bool boolean(bool value) override { return note(value ? "true" : "false"); }
  bool count(uint64_t value) override { return note("count " + std::to_string(value)); }
  bool integer(int64_t value) override { return note("integer " + std::to_string(value)); }
  bool real(double value, const std::string& text) override {
    return note("real " + text + (value == std::stod(text) ? "" : " of another value"));
  }
  bool string(std::string& text) override { return note("string " + std::move(text)); }
  bool begin_array() override { return note("["); }
  bool end_array() override { return note("]"); }
  bool begin_object() override { return note("{"); }
  bool key(std::string& text) override { return note("key " + std::move(text)); }
  bool end_object() override { return note("}"); }
  void refuse(JsonFault fault, size_t position) override {
    note((fault == JsonFault::Range ? "range " : "syntax ") + std::to_string(position));
  }

  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  bool note(std::string line) {
    lines_.push_back(std::move(line));
    return lines_.size() < most_;
  }

  std::vector<std::string> lines_;
  size_t most_;
};

using Lines = std::vector<std::string>;

Lines events_of(std::string_view text, bool is_read) {
  Record record;
  EXPECT_EQ(read_json(text, record), is_read) << text;
  return record.lines();
}

TEST(JsonReader, HandsOverEveryPartInOrder) {
  EXPECT_EQ(events_of(R"( {"a":[null,true,false,[]],"\u00e4":{"a":"x\ny"},"a":{}} )", true),
            (Lines{"{", "key a", "[", "null", "true", "false", "[", "]", "]", "key \xc3\xa4", "{",
                   "key a", "string x\ny", "}", "key a", "{", "}", "}"}));
  EXPECT_EQ(events_of("\"\"", true), Lines{"string "});
}

TEST(JsonReader, TellsTheKindsOfNumbersApart) {
  EXPECT_EQ(
      events_of("[0, 18446744073709551615, 18446744073709551616]", true),
      (Lines{"[", "count 0", "count 18446744073709551615", "real 18446744073709551616", "]"}));
  EXPECT_EQ(
      events_of("[-0, -9223372036854775808, -9223372036854775809]", true),
      (Lines{"[", "integer 0", "integer -9223372036854775808", "real -9223372036854775809", "]"}));
  EXPECT_EQ(events_of("[1.50, 1E3, -0.0]", true),
            (Lines{"[", "real 1.50", "real 1E3", "real -0.0", "]"}));
}

TEST(JsonReader, RefusesOtherTextsAndTellsWhere) {
  EXPECT_EQ(events_of("", false), Lines{"syntax 1"});
  EXPECT_EQ(events_of("[1,]", false), (Lines{"[", "count 1", "syntax 4"}));
  EXPECT_EQ(events_of("{\"a\" 1}", false), (Lines{"{", "key a", "syntax 6"}));
  EXPECT_EQ(events_of("{} x", false), (Lines{"{", "}", "syntax 4"}));
  EXPECT_EQ(events_of("[1e999]", false), (Lines{"[", "range 6"}));
  for (const char* text : {"nul", "01", "+1", "1.", "'a'", "\"\xff\"", "\"\\ud800\"", "\"a",
                           "{1:2}", "[1 2]", "]", "// a", "NaN", "\"\t\""}) {
    const Lines lines = events_of(text, false);
    ASSERT_FALSE(lines.empty());
    EXPECT_TRUE(lines.back().starts_with("syntax ")) << text;
  }
}

TEST(JsonReader, RefusesAZeroByteWhereverItStands) {
  const std::string_view text = R"( {"a":[1,"s"]} )";
  for (size_t at = 0; at <= text.size(); ++at) {
    std::string cut(text);
    cut.insert(at, 1, '\0');
    const Lines lines = events_of(cut, false);
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back(), "syntax " + std::to_string(at + 1));
  }
  EXPECT_EQ(events_of(std::string_view("{}\0{}", 5), false).back(), "syntax 3");
}

TEST(JsonReader, EndsWhereTheEventsEndIt) {
  const std::string_view text = R"([{"a":[1,-1,1.5,"s",true,null]}])";
  const Lines all = events_of(text, true);
  ASSERT_EQ(all.size(), 13u);
  for (size_t most = 1; most <= all.size(); ++most) {
    Record record(most);
    EXPECT_FALSE(read_json(text, record)) << most;
    EXPECT_EQ(record.lines(), Lines(all.begin(), all.begin() + static_cast<ptrdiff_t>(most)));
  }
}

TEST(JsonReader, UsesNoStackForDepth) {
  const size_t depth = 300'000;
  const Lines lines = events_of(std::string(depth, '[') + std::string(depth, ']'), true);
  EXPECT_TRUE(lines.size() == 2 * depth);
}

}  // namespace
}  // namespace tenon
