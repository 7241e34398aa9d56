// Rows by hashes of several tokens against a loop over whole texts, for any slices, beside others,
// and after a rewind.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "program/operations.h"
#include "tests/conformance/program_runner.h"
#include "tests/conformance/tolerances.h"

namespace tenon::conformance {
namespace {

constexpr int32_t kEnd = 7;
constexpr uint64_t kTableRows = 101;
// Like published values: products with tokens reach 2^62.
constexpr int64_t kMultipliers[] = {47649606098304421, 42058795021143793, 60622874201084891,
                                    32871034217309513};

struct Ngrams {
  uint64_t n = 3;
  uint64_t columns = 16;
  Format format = Format::F32;
  std::vector<backends::NgramHead> heads = {{2, 0, 13}, {1, 13, 31}, {3, 44, 57}, {2, 1, 100}};
  bool maps = false;  ///< uses a token map
};

/// Value of a token in the map.
int64_t mapped(int32_t token) { return int64_t{token} * 5 % 11; }

std::shared_ptr<const std::vector<int64_t>> map_of(const Ngrams& f) {
  if (!f.maps) return nullptr;
  std::vector<int64_t> map;
  for (int32_t token = 0; token < static_cast<int32_t>(kVocab); ++token) {
    map.push_back(mapped(token));
  }
  return std::make_shared<const std::vector<int64_t>>(std::move(map));
}

void PrintTo(const Ngrams& f, std::ostream* out) {
  *out << f.n << " tokens, " << f.heads.size() << " heads of " << f.columns << " "
       << find_format(static_cast<uint32_t>(f.format))->name;
}

Program ngram_program(const Ngrams& f) {
  ProgramBuilder b;
  const Slot table = b.weight("table", f.format, kTableRows, f.columns);
  const auto multipliers = std::span(kMultipliers).first(f.n);
  const Slot rows = op::ngram_rows(b, table,
                                   {.multipliers = {multipliers.begin(), multipliers.end()},
                                    .heads = f.heads,
                                    .end = kEnd,
                                    .map = map_of(f)});
  const Slot token = op::embed(b, b.weight("table_e", Format::F32, kVocab, 1));
  return std::move(b).finish(op::gather_rows(b, op::concat(b, rows, token)), kLimits);
}

/// Row for the last token of a text.
std::vector<float> expected_row(const Ngrams& f, std::span<const int32_t> text) {
  tenon_slot slot{};
  slot.kind = TENON_SLOT_WEIGHT;
  slot.type = static_cast<uint32_t>(f.format);
  slot.rows = kTableRows;
  slot.columns = f.columns;
  slot.name = "table";
  const std::vector<std::byte> blocks = random_blocks(slot);
  const FormatInfo& format = *find_format(slot.type);
  const uint64_t row_size = *row_bytes(format, f.columns);
  std::vector<float> row;
  for (const backends::NgramHead& head : f.heads) {
    uint64_t hash = 0;
    bool ended = false;
    for (size_t i = 0; i < head.order; ++i) {
      ended = ended || i >= text.size() || (!f.maps && i > 0 && text[text.size() - 1 - i] == kEnd);
      const int32_t token = ended ? kEnd : text[text.size() - 1 - i];
      const int64_t counts_as = f.maps && !ended ? mapped(token) : token;
      hash ^= static_cast<uint64_t>(counts_as) * static_cast<uint64_t>(kMultipliers[i]);
    }
    const uint64_t number = head.offset + hash % head.size;
    std::vector<float> decoded(f.columns);
    format.decode_row(blocks.data() + number * row_size, decoded.data(), f.columns);
    row.insert(row.end(), decoded.begin(), decoded.end());
  }
  row.push_back(random_values("table_e", kVocab)[static_cast<size_t>(text[text.size() - 1])]);
  return row;
}

/// Tokens with frequent end tokens.
std::vector<int32_t> text_of(uint32_t count, uint32_t seed = 0) {
  std::vector<int32_t> text = mixed_tokens(count, seed);
  for (uint32_t i = 4; i < count; i += 5 + i % 3) text[i] = kEnd;
  if (count > 20) text[15] = text[16] = kEnd;
  return text;
}

std::vector<float> expected_rows(const Ngrams& f, std::span<const int32_t> text, size_t first) {
  std::vector<float> all;
  for (size_t i = first; i < text.size(); ++i) {
    const std::vector<float> row = expected_row(f, text.first(i + 1));
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

class NgramRows : public testing::TestWithParam<Ngrams> {};

TEST_P(NgramRows, AreThoseOfTheHashesHoweverATextIsCut) {
  const Ngrams& f = GetParam();
  const Program program = ngram_program(f);
  const std::vector<int32_t> text = text_of(60);
  for (const std::vector<uint32_t>& slices :
       {std::vector<uint32_t>{60}, {1}, {2, 1, 3, 1, 1, 20, 1}, {59, 1}}) {
    Runner runner(target(), program);
    std::vector<float> all;
    size_t first = 0;
    for (size_t s = 0; first < text.size(); ++s) {
      const size_t left = text.size() - first;
      const size_t count = std::min<size_t>(left, slices[std::min(s, slices.size() - 1)]);
      const auto begin = text.begin() + static_cast<ptrdiff_t>(first);
      const std::vector<float> rows =
          runner.run({{{0, {begin, begin + static_cast<ptrdiff_t>(count)}}}});
      all.insert(all.end(), rows.begin(), rows.end());
      first += count;
    }
    EXPECT_EQ(all, expected_rows(f, text, 0));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, NgramRows,
    testing::Values(Ngrams{}, Ngrams{.n = 1, .heads = {{1, 0, 101}}}, Ngrams{.maps = true},
                    Ngrams{.n = 4, .columns = 7, .heads = {{4, 0, 97}, {2, 5, 96}}},
                    Ngrams{.n = 2, .columns = 64, .format = Format::Q8_0, .heads = {{2, 3, 89}}}));

TEST(NgramRowsOfSequences, AreThoseOfTheirOwnText) {
  const Ngrams f;
  const Program program = ngram_program(f);
  Runner runner(target(), program);
  const std::vector<int32_t> texts[] = {text_of(9, 1), text_of(7, 2), text_of(4, 3)};
  const auto part = [&](uint32_t sequence, uint32_t first, uint32_t count) {
    const auto begin = texts[sequence].begin() + first;
    return Part{sequence, {begin, begin + count}};
  };
  const auto check = [&](const std::vector<Part>& parts, const std::vector<uint32_t>& firsts) {
    std::vector<float> expected;
    for (size_t p = 0; p < parts.size(); ++p) {
      const auto whole =
          std::span(texts[parts[p].sequence]).first(firsts[p] + parts[p].tokens.size());
      const std::vector<float> rows = expected_rows(f, whole, firsts[p]);
      expected.insert(expected.end(), rows.begin(), rows.end());
    }
    EXPECT_EQ(runner.run({parts}), expected);
  };
  check({part(0, 0, 1), part(1, 0, 5)}, {0, 0});
  check({part(1, 5, 1), part(2, 0, 2), part(0, 1, 1)}, {5, 0, 1});
  check({part(2, 2, 1), part(0, 2, 7), part(1, 6, 0)}, {2, 2, 6});
  runner.rewind(0, 3);
  check({part(0, 3, 2)}, {3});
}

}  // namespace
}  // namespace tenon::conformance
