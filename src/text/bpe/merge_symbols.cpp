#include "text/bpe/merge_symbols.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "text/bpe/merge_queue.h"

namespace tenon {
namespace {

// Longest sequence for which a scan for the lowest rank beats the queue; an English word has about
// five symbols.
constexpr size_t kShort = 48;

uint64_t merge_short(const MergeTable& table, std::vector<Symbol>& symbols) {
  std::array<Merge, kShort> merges;  // merges[i]: merge of symbols i and i + 1
  size_t size = symbols.size();
  uint64_t work = size;
  for (size_t i = 0; i + 1 < size; ++i) merges[i] = table.find(symbols[i], symbols[i + 1]);
  while (size > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < size; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == Merge::kNoRank) break;
    symbols[best] = merges[best].result;
    --size;
    work += size;
    for (size_t i = best + 1; i < size; ++i) symbols[i] = symbols[i + 1];
    for (size_t i = best + 1; i + 1 < size; ++i) merges[i] = merges[i + 1];
    if (best > 0) merges[best - 1] = table.find(symbols[best - 1], symbols[best]);
    if (best + 1 < size) merges[best] = table.find(symbols[best], symbols[best + 1]);
  }
  symbols.resize(size);
  return work;
}

/// True if any two neighbours merge.
bool any_merges(const MergeTable& table, std::span<const Symbol> symbols) {
  for (size_t i = 0; i + 1 < symbols.size(); ++i) {
    if (table.find(symbols[i], symbols[i + 1]).rank != Merge::kNoRank) return true;
  }
  return false;
}

}  // namespace

uint64_t merge_symbols(const MergeTable& table, std::vector<Symbol>& symbols) {
  if (symbols.size() < 2) return 0;
  if (symbols.size() <= kShort) return merge_short(table, symbols);
  if (!any_merges(table, symbols)) return symbols.size();
  MergeQueue merge(table);
  const uint64_t work = merge.run(symbols);
  symbols = merge.symbols();
  return work;
}

}  // namespace tenon
