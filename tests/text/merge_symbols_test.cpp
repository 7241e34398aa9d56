// Merging in order of rank: the definition's result for any ranks, with linear work.
#include "text/bpe/merge_symbols.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tenon {
namespace {

/// The definition: repeatedly the leftmost pair of the lowest rank.
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

TEST(MergeSymbols, LeavesAloneWhatDoesNotMerge) {
  const MergeTable table(0);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{48}, size_t{49}, size_t{200}}) {
    std::vector<Symbol> symbols(size, 3);
    merge_symbols(table, symbols);
    EXPECT_EQ(symbols, std::vector<Symbol>(size, 3));
  }
}

// Random ranks: merges may create lower ranks than their own and share ranks, unlike in real
// vocabularies.
TEST(MergeSymbols, AgreesWithTheDefinitionForAnyRanks) {
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

/// Pairs looked at while merging `size` symbols of a pattern.
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

TEST(MergeSymbols, LooksAtPairsInProportionToTheSymbols) {
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
