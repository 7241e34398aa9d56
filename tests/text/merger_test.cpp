#include "text/bpe/merger.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <span>
#include <vector>

#include "text/bpe/piece_merge.h"

namespace tenon {
namespace {

/// The definition: the leftmost pair of the lowest rank, again and again.
std::vector<Symbol> merged_by_definition(const MergeTable& table, std::vector<Symbol> symbols) {
  while (true) {
    size_t best = 0;
    Merge best_merge;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const Merge merge = table.find(symbols[i], symbols[i + 1]);
      if (merge.rank < best_merge.rank) {
        best = i;
        best_merge = merge;
      }
    }
    if (best_merge.rank == Merge::kNoRank) return symbols;
    symbols[best] = best_merge.result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(MergeTable, FindsWhatWasInsertedAndNothingElse) {
  MergeTable table(3);
  EXPECT_TRUE(table.insert(1, 2, {7, 100}));
  EXPECT_TRUE(table.insert(2, 1, {8, 101}));
  EXPECT_TRUE(table.insert(~5, 0, {9, 102}));
  EXPECT_FALSE(table.insert(1, 2, {1, 1}));
  EXPECT_EQ(table.find(1, 2).result, 100);
  EXPECT_EQ(table.find(2, 1).rank, 8u);
  EXPECT_EQ(table.find(~5, 0).result, 102);
  EXPECT_EQ(table.find(0, ~5).rank, Merge::kNoRank);
}

TEST(Merger, LeavesAloneWhatDoesNotMerge) {
  const MergeTable table(0);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{48}, size_t{49}, size_t{200}}) {
    std::vector<Symbol> symbols(size, 3);
    merge_symbols(table, symbols);
    EXPECT_EQ(symbols, std::vector<Symbol>(size, 3));
  }
}

// Ranks are drawn at random, so that merges bring up lower ranks than their own and share ranks,
// which vocabularies of real models do not do.
TEST(Merger, AgreesWithTheDefinitionForAnyRanks) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const int letters = 2 + static_cast<int>(random() % 3);
    const int max_rank = round % 2 == 0 ? 5 : 1000;
    MergeTable table(60);
    for (int i = 0; i < 60; ++i) {
      const auto left = static_cast<Symbol>(random() % static_cast<unsigned>(letters + i));
      const auto right = static_cast<Symbol>(random() % static_cast<unsigned>(letters + i));
      table.insert(left, right, {static_cast<uint32_t>(random()) % max_rank, letters + i});
    }
    for (const size_t size : {size_t{5}, size_t{47}, size_t{48}, size_t{49}, size_t{150}}) {
      std::vector<Symbol> symbols(size);
      for (Symbol& s : symbols) s = static_cast<Symbol>(random() % static_cast<unsigned>(letters));
      const std::vector<Symbol> expected = merged_by_definition(table, symbols);
      merge_symbols(table, symbols);
      ASSERT_EQ(symbols, expected) << "round " << round << " size " << size;
    }
  }
}

/// Gives out symbols a few at a time.
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

std::optional<std::vector<Symbol>> merged_in_pieces(const MergeTable& table,
                                                    const std::vector<Symbol>& symbols,
                                                    size_t piece) {
  Source source{symbols};
  std::vector<Symbol> out;
  PieceMerge merge(table, piece);
  const bool fits = merge.run(
      [&](auto& into, size_t count) { return source.next(into, count); },
      [&](std::span<const Symbol> merged) { out.insert(out.end(), merged.begin(), merged.end()); });
  return fits ? std::optional(out) : std::nullopt;
}

TEST(Merger, MergesInPiecesAsAtOnce) {
  std::mt19937 random(11);
  int in_pieces = 0;
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
      const std::optional<std::vector<Symbol>> pieces = merged_in_pieces(table, symbols, 64);
      if (!pieces) continue;
      ++in_pieces;
      ASSERT_EQ(*pieces, expected) << "round " << round << " size " << size;
    }
  }
  EXPECT_GT(in_pieces, 300);
}

// Each symbol pairs up with the next one only if that has not paired up with its own next one,
// which goes first: what a piece becomes depends on the end of the sequence.
TEST(Merger, LeapsWhereTheEndDecidesEverything) {
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
    EXPECT_EQ(merged_in_pieces(table, source.symbols, 1024).has_value(), size % 2 == 0);
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

/// Pairs looked at while `size` symbols of a pattern merge.
uint64_t work_for(const MergeTable& table, const std::vector<Symbol>& pattern, size_t size) {
  std::vector<Symbol> symbols(size);
  for (size_t i = 0; i < size; ++i) symbols[i] = pattern[i % pattern.size()];
  return merge_symbols(table, symbols);
}

void expect_linear_work(const MergeTable& table, const std::vector<Symbol>& pattern) {
  constexpr size_t kSize = 3'000;
  const uint64_t small = work_for(table, pattern, kSize);
  const uint64_t large = work_for(table, pattern, 10 * kSize);
  EXPECT_GE(small, kSize);
  EXPECT_LE(large, 11 * small);
  EXPECT_LE(large, 10 * 8 * kSize);
}

TEST(Merger, LooksAtPairsInProportionToTheSymbols) {
  for (const bool rising :
       {true, false}) {  // falling: each merge makes way for one that goes first
    MergeTable doubling(20);
    MergeTable growing(20);
    for (Symbol i = 0; i < 20; ++i) {
      const auto rank = static_cast<uint32_t>(rising ? i : 20 - i);
      doubling.insert(i, i, {rank, i + 1});
      growing.insert(i, 0, {rank, i + 1});
    }
    expect_linear_work(doubling, {0});
    expect_linear_work(growing, {0});
    expect_linear_work(growing, {0, 0, 7});
    expect_linear_work(growing, {0, 1});
  }
  expect_linear_work(MergeTable(0), {3});
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    MergeTable table(60);
    for (int i = 0; i < 60; ++i) {
      table.insert(static_cast<Symbol>(random() % static_cast<unsigned>(3 + i)),
                   static_cast<Symbol>(random() % static_cast<unsigned>(3 + i)),
                   {static_cast<uint32_t>(random()) % 1000, 3 + i});
    }
    expect_linear_work(table, {0, 1, 2, 0, 0, 1});
  }
}

}  // namespace
}  // namespace tenon
