// Merges symbol sequences of any length in linear time, chunk by chunk. merge_symbols handles
// sequences of one chunk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/bpe/merge_queue.h"
#include "text/bpe/merge_symbols.h"
#include "text/bpe/merge_table.h"

namespace tenon {

/// Merges a long sequence chunk by chunk, so that the scratch stays in the cache and memory does
/// not grow with the sequence. The end of each merged chunk is discarded, since later symbols could
/// change it, and is merged again with the next chunk.
/// This is exact if the symbols on both sides of each seam, merged alone, stay as they are. A
/// sequence of symbols is the merge of its text if and only if all pairs of neighbours have this
/// property. (Until the first merge across a boundary, the symbols beside it change as they would
/// alone, so they would merge alone, too.) If a seam lacks it, the next chunk begins some symbols
/// earlier; the last symbols of each chunk are held back for this.
class ChunkedMerge {
 public:
  /// chunk: symbols per chunk, at least 64.
  ChunkedMerge(const MergeTable& table, size_t chunk)
      : table_(table), chunk_(chunk), merge_(table) {}

  /// next(symbols, count) appends about `count` more symbols (or all), and returns false if none
  /// follow. sink(symbols) receives the merged symbols in order. Returns false if chunks do not fit
  /// together: the sink's contents are wrong then.
  template <typename Next, typename Sink>
  bool run(Next&& next, Sink&& sink) {
    size_t begin = 0;  // start of the chunk in from_
    size_t steps_back = 1;
    size_t lost = 0;  // symbols by which the chunk begins before the failed seam
    for (bool more = true;;) {
      if (more && from_.size() - begin < chunk_) {
        begin -= forget(begin);
        while (more && from_.size() - begin < chunk_) {
          more = next(from_, chunk_ - (from_.size() - begin));
        }
      }
      const size_t size = std::min(chunk_, from_.size() - begin);
      work_ += merge_.run(std::span<const Symbol>(from_).subspan(begin, size));
      if (!held_.empty() && size > 0 && !fits(begin, size)) {
        if (held_.size() <= steps_back) return false;
        const size_t made_of = step_back(steps_back);
        begin -= made_of;
        lost += made_of;
        steps_back *= 2;
        continue;
      }
      steps_back = 1;
      sink(std::span<const Symbol>(held_));
      const std::span<const Symbol> merged = merge_.symbols();
      if (!more && begin + size == from_.size()) {
        sink(merged);
        return true;
      }
      const size_t count = num_certain(size);
      if (count == 0 || merge_.begins()[count] <= lost) return false;
      lost = 0;
      sink(merged.first(count - hold(count)));
      begin += merge_.begins()[count];
    }
  }

  [[nodiscard]] uint64_t work() const { return work_; }

 private:
  /// Number of merged symbols, in a chunk of `size`, that do not depend on later symbols.
  [[nodiscard]] size_t num_certain(size_t size) const;
  /// Holds back the last of the `count` certain symbols; returns how many.
  size_t hold(size_t count);
  /// True if the last held symbol and the first of the chunk at `begin` stay neighbours.
  bool fits(size_t begin, size_t size);
  /// Discards the last `count` held symbols; returns how many original symbols they cover.
  size_t step_back(size_t count);
  /// Drops originals before those of the held symbols, which end at `begin`; returns how many.
  size_t forget(size_t begin);

  const MergeTable& table_;
  size_t chunk_;
  MergeQueue merge_;
  std::vector<Symbol> from_;          // originals of the held symbols, then the chunk
  std::vector<Symbol> held_;          // merged symbols before the chunk
  std::vector<uint32_t> held_sizes_;  // [held_] originals per symbol
  std::vector<Symbol> pair_;
  uint64_t work_ = 0;
};

/// Merges the symbols of a word that has at most `most`. source.next() is as in ChunkedMerge;
/// source.rewind() restarts. append(symbols) adds to the tokens in `out`. `symbols` is scratch.
/// Linear time for any merges: the chunk size grows until chunks fit together.
template <typename Source, typename Append>
void merge_word(const MergeTable& table, Source&& source, size_t most, std::vector<Symbol>& symbols,
                std::vector<Token>& out, Append&& append) {
  constexpr size_t kChunk = 16384;
  constexpr size_t kLeap = 32;
  if (most <= kChunk) {
    symbols.clear();
    (void)source.next(symbols, most);
    (void)merge_symbols(table, symbols);
    return append(std::span<const Symbol>(symbols));
  }
  const size_t before = out.size();
  for (size_t chunk = kChunk;; chunk *= kLeap) {
    ChunkedMerge merge(table, chunk);
    const auto next = [&](std::vector<Symbol>& into, size_t count) {
      return source.next(into, count);
    };
    if (merge.run(next, append)) return;
    out.resize(before);
    source.rewind();
  }
}

}  // namespace tenon
