// Merging in chunks equals merging at once.
#include "text/bpe/chunked_merge.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <span>
#include <vector>

namespace tenon {
namespace {

/// Supplies symbols, a few at a time.
struct Source {
  std::vector<Symbol> symbols;
  size_t at = 0;
  bool next(std::vector<Symbol>& into, size_t count) {
    count = std::min(count, symbols.size() - at);
    const auto begin = symbols.begin() + static_cast<std::ptrdiff_t>(at);
    into.insert(into.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
    at += count;
    return at < symbols.size();
  }
  void rewind() { at = 0; }
};

std::optional<std::vector<Symbol>> merged_in_chunks(const MergeTable& table,
                                                    const std::vector<Symbol>& symbols,
                                                    size_t chunk) {
  Source source{symbols};
  std::vector<Symbol> out;
  ChunkedMerge merge(table, chunk);
  const bool fits = merge.run(
      [&](auto& into, size_t count) { return source.next(into, count); },
      [&](std::span<const Symbol> merged) { out.insert(out.end(), merged.begin(), merged.end()); });
  return fits ? std::optional(out) : std::nullopt;
}

TEST(ChunkedMerge, MergesAsAtOnce) {
  std::mt19937 random(11);
  int in_chunks = 0;
  for (int round = 0; round < 300; ++round) {
    const int letters = 1 + static_cast<int>(random() % 4);
    const int max_rank = round % 3 == 0 ? 5 : 1000;
    const int num_merges = 2 + static_cast<int>(random() % 60);
    MergeTable table(static_cast<size_t>(num_merges));
    for (int i = 0; i < num_merges; ++i) {
      const auto left = static_cast<Symbol>(random() % static_cast<unsigned>(letters + i));
      const auto right = static_cast<Symbol>(random() % static_cast<unsigned>(letters + i));
      const bool in_order = round % 2 == 0;  // as in vocabularies of real models
      const auto rank = in_order
                            ? static_cast<uint32_t>(i)
                            : static_cast<uint32_t>(random()) % static_cast<uint32_t>(max_rank);
      table.insert(left, right, {rank, letters + i});
    }
    for (const size_t size : {size_t{65}, size_t{200}, size_t{2000}}) {
      std::vector<Symbol> symbols(size);
      for (Symbol& s : symbols) s = static_cast<Symbol>(random() % static_cast<unsigned>(letters));
      std::vector<Symbol> expected = symbols;
      merge_symbols(table, expected);
      const std::optional<std::vector<Symbol>> chunks = merged_in_chunks(table, symbols, 64);
      if (!chunks) continue;
      ++in_chunks;
      ASSERT_EQ(*chunks, expected) << "round " << round << " size " << size;
    }
  }
  EXPECT_GT(in_chunks, 300);
}

// Each symbol merges with the next only if that has not merged with its own successor, which goes
// first. So the result of a chunk depends on the end of the sequence.
TEST(ChunkedMerge, LeapsWhereTheEndDecidesEverything) {
  constexpr Symbol kLetters = 40'000;
  MergeTable table(kLetters);
  for (Symbol i = 0; i + 1 < kLetters; ++i) {
    table.insert(i, i + 1, {static_cast<uint32_t>(kLetters - i), kLetters + i});
  }
  for (const Symbol size : {kLetters, kLetters - 1}) {
    Source source;
    for (Symbol i = 0; i < size; ++i) source.symbols.push_back(i);
    std::vector<Symbol> expected = source.symbols;
    merge_symbols(table, expected);
    EXPECT_EQ(merged_in_chunks(table, source.symbols, 1024).has_value(), size % 2 == 0);
    std::vector<Token> out{-7};
    std::vector<Symbol> scratch;
    merge_word(table, source, source.symbols.size(), scratch, out,
               [&out](std::span<const Symbol> merged) {
                 out.insert(out.end(), merged.begin(), merged.end());
               });
    expected.insert(expected.begin(), -7);
    EXPECT_EQ(out, expected) << size;
  }
}

}  // namespace
}  // namespace tenon
