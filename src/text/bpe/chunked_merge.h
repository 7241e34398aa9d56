// Merges sequences of symbols of any length in linear time, a chunk at a time; a sequence that is
// one chunk is merge_symbols'.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/bpe/merge_queue.h"
#include "text/bpe/merge_symbols.h"
#include "text/bpe/merge_table.h"

namespace tenon {

/// Merges a long sequence chunk by chunk, so that the scratch stays in the cache and memory does
/// not grow with the sequence. The end of each merged chunk is given up, since what follows could
/// change it, and is merged again with the next chunk.
///
/// This is exact where the first symbol of each chunk and the one before it, merged alone, stay as
/// they are: a sequence of symbols is what merging makes of its text if and only if that holds of
/// all its neighbours. (Until a first merge across a boundary the symbols next to it change as they
/// would alone, so that alone they would merge too.) Where it does not hold, the next chunk begins
/// some symbols earlier: the last ones of each chunk are held back for that.
class ChunkedMerge {
 public:
  /// chunk: symbols at a time, 64 at least.
  ChunkedMerge(const MergeTable& table, size_t chunk)
      : table_(table), chunk_(chunk), merge_(table) {}

  /// next(symbols, count): appends about `count` more symbols (or all); false when there are none
  /// after them. sink(symbols): what they merge into, in order. False where chunks do not fit
  /// together: what the sink got is then wrong.
  template <typename Next, typename Sink>
  bool run(Next&& next, Sink&& sink) {
    size_t begin = 0;  // of the chunk in from_
    size_t steps_back = 1;
    size_t lost = 0;  // symbols that the chunk begins before the one that did not fit
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
  /// How many of the merged symbols of a chunk of `size` do not depend on what follows it.
  [[nodiscard]] size_t num_certain(size_t size) const;
  /// Holds back the last of the `count` symbols that are certain; how many.
  size_t hold(size_t count);
  /// Whether the last symbol held and the first of the chunk at `begin` are neighbours for good.
  bool fits(size_t begin, size_t size);
  /// Gives up the last `count` symbols held; how many they were made of.
  size_t step_back(size_t count);
  /// Forgets what lies before the symbols held, which end at `begin`; how many they were made of.
  size_t forget(size_t begin);

  const MergeTable& table_;
  size_t chunk_;
  MergeQueue merge_;
  std::vector<Symbol> from_;          // the chunk, and before it what the symbols held were made of
  std::vector<Symbol> held_;          // before the chunk
  std::vector<uint32_t> held_sizes_;  // [held_] of how many each was made
  std::vector<Symbol> pair_;
  uint64_t work_ = 0;
};

/// Merges the symbols of a word that has `most` of them at most. source.next() as ChunkedMerge
/// wants it, source.rewind() starts again. append(symbols): adds to the tokens in `out`. `symbols`
/// is scratch. Linear time, whatever the merges: chunks grow by leaps until they fit.
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
