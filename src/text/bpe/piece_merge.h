// Merges long sequences of symbols; short ones are merger.h's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/bpe/merger.h"

namespace tenon {

/// Positions at which a pair of one rank may start, lowest first. What comes before the first pop
/// is kept in a plain list (it nearly always arrives in order), what comes later in a heap.
class PositionQueue {
 public:
  void push(uint32_t position) {
    if (!popped_) {
      sorted_ = sorted_ && (early_.empty() || early_.back() <= position);
      early_.push_back(position);
    } else {
      late_.push(position);
    }
  }

  [[nodiscard]] bool empty() const { return next_ == early_.size() && late_.empty(); }

  uint32_t pop() {
    if (!sorted_) std::sort(early_.begin(), early_.end());
    sorted_ = popped_ = true;
    if (!late_.empty() && (next_ == early_.size() || late_.top() < early_[next_])) {
      const uint32_t position = late_.top();
      late_.pop();
      return position;
    }
    return early_[next_++];
  }

 private:
  std::vector<uint32_t> early_;
  size_t next_ = 0;
  bool sorted_ = true;
  bool popped_ = false;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> late_;
};

/// The merging of long sequences: a linked list of symbols and a queue of positions per rank.
/// Queue entries are never withdrawn; one whose pair has changed is dropped when its turn comes.
/// Scratch is kept from sequence to sequence.
class LongMerge {
 public:
  explicit LongMerge(const MergeTable& table) : table_(table) {}

  /// Merges these; symbols() and begins() are the result. Returns the pairs looked at.
  uint64_t run(std::span<const Symbol> from) {
    symbols_.assign(from.begin(), from.end());
    const auto size = static_cast<uint32_t>(symbols_.size());
    begins_.clear();
    next_.resize(size);
    previous_.resize(size);
    for (uint32_t i = 0; i < size; ++i) {
      next_[i] = i + 1 < size ? i + 1 : kNone;
      previous_[i] = i > 0 ? i - 1 : kNone;
    }
    work_ = 0;
    run();
    return work_;
  }

  [[nodiscard]] const std::vector<Symbol>& symbols() const { return symbols_; }
  /// [symbols] where each began among the symbols that were given.
  [[nodiscard]] const std::vector<uint32_t>& begins() const { return begins_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void run() {
    const auto size = static_cast<uint32_t>(symbols_.size());
    for (uint32_t i = 0; i + 1 < size; ++i) enqueue(i);
    while (!ranks_.empty()) {
      const uint32_t rank = ranks_.top();
      PositionQueue& queue = queues_.at(rank);
      // Merging may bring up a lower rank, which then goes first.
      while (ranks_.top() == rank && !queue.empty()) merge_at(queue.pop(), rank);
      if (ranks_.top() == rank) {
        ranks_.pop();
        recent_ = nullptr;
        queues_.erase(rank);
      }
    }
    recent_ = nullptr;
    compact();
  }

  /// Notes the pair at `position` if it merges.
  void enqueue(uint32_t position) {
    ++work_;
    const Merge merge = table_.find(symbols_[position], symbols_[next_[position]]);
    if (merge.rank == Merge::kNoRank) return;
    if (recent_ == nullptr || recent_rank_ != merge.rank) {
      const auto [entry, is_new] = queues_.try_emplace(merge.rank);
      if (is_new) ranks_.push(merge.rank);
      recent_ = &entry->second;
      recent_rank_ = merge.rank;
    }
    recent_->push(position);
  }

  void merge_at(uint32_t left, uint32_t rank) {
    if (next_[left] == left) return;  // merged into its left neighbour meanwhile
    const uint32_t right = next_[left];
    if (right == kNone) return;
    ++work_;
    const Merge merge = table_.find(symbols_[left], symbols_[right]);
    if (merge.rank != rank) return;
    symbols_[left] = merge.result;
    next_[left] = next_[right];
    if (next_[right] != kNone) previous_[next_[right]] = left;
    next_[right] = right;  // marks it as gone
    if (previous_[left] != kNone) enqueue(previous_[left]);
    if (next_[left] != kNone) enqueue(left);
  }

  void compact() {
    size_t size = 0;
    for (uint32_t i = symbols_.empty() ? kNone : 0; i != kNone; i = next_[i]) {
      begins_.push_back(i);
      symbols_[size++] = symbols_[i];
    }
    symbols_.resize(size);
  }

  const MergeTable& table_;
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> begins_;
  std::vector<uint32_t> next_;  // a symbol that is gone points at itself
  std::vector<uint32_t> previous_;
  std::unordered_map<uint32_t, PositionQueue> queues_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;
  PositionQueue* recent_ = nullptr;  // the queue of recent_rank_: neighbours often share a rank
  uint32_t recent_rank_ = 0;
  uint64_t work_ = 0;
};

/// A long sequence piece by piece, so that the scratch stays in the cache and memory does not grow
/// with the sequence. Of what a piece becomes the end is given up, since what follows could change
/// it, and done again with the next piece.
///
/// This is exact where the first symbol of each piece and the one before it, merged alone, stay as
/// they are: a sequence of symbols is what merging makes of its text if and only if that holds of
/// all its neighbours. (Until a first merge across a boundary the symbols beside it change as they
/// would alone, so that alone they would merge too.) Where it does not hold, the next piece begins
/// some symbols earlier: the last ones of each piece are held back for that.
class PieceMerge {
 public:
  /// piece: symbols at a time, 64 at least.
  PieceMerge(const MergeTable& table, size_t piece) : table_(table), piece_(piece), merge_(table) {}

  /// next(symbols, count): appends about `count` more symbols (or all); false when there are none
  /// behind them. sink(symbols): what they merge into, in order. False where pieces do not fit
  /// together: what the sink got is then wrong.
  template <typename Next, typename Sink>
  bool run(Next&& next, Sink&& sink) {
    size_t begin = 0;  // of the piece in from_
    size_t steps_back = 1;
    size_t lost = 0;  // symbols that the piece begins before the one that did not fit
    for (bool more = true;;) {
      if (more && from_.size() - begin < piece_) {
        begin -= forget(begin);
        while (more && from_.size() - begin < piece_) {
          more = next(from_, piece_ - (from_.size() - begin));
        }
      }
      const size_t size = std::min(piece_, from_.size() - begin);
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
  /// How many of the merged symbols of a piece of `size` do not depend on what follows it.
  [[nodiscard]] size_t num_certain(size_t size) const;
  /// Holds back the last of the `count` symbols that are certain; how many.
  size_t hold(size_t count);
  /// Whether the last symbol held and the first of the piece at `begin` are neighbours for good.
  bool fits(size_t begin, size_t size);
  /// Gives up the last `count` symbols held; how many they were made of.
  size_t step_back(size_t count);
  /// Forgets what lies before the symbols held, which end at `begin`; how many they were made of.
  size_t forget(size_t begin);

  const MergeTable& table_;
  size_t piece_;
  LongMerge merge_;
  std::vector<Symbol> from_;          // the piece, and before it what the symbols held were made of
  std::vector<Symbol> held_;          // before the piece
  std::vector<uint32_t> held_sizes_;  // [held_] of how many each was made
  std::vector<Symbol> pair_;
  uint64_t work_ = 0;
};

/// Merges the symbols of a word that has `most` of them at most. source.next() as PieceMerge wants
/// it, source.rewind() starts again. append(symbols): adds to the tokens in `out`. `symbols` is
/// scratch. Linear time, whatever the merges: pieces grow by leaps until they fit.
template <typename Source, typename Append>
void merge_word(const MergeTable& table, Source&& source, size_t most, std::vector<Symbol>& symbols,
                std::vector<Token>& out, Append&& append) {
  constexpr size_t kPiece = 16384;
  constexpr size_t kLeap = 32;
  if (most <= kPiece) {
    symbols.clear();
    (void)source.next(symbols, most);
    (void)merge_symbols(table, symbols);
    return append(std::span<const Symbol>(symbols));
  }
  const size_t before = out.size();
  for (size_t piece = kPiece;; piece *= kLeap) {
    PieceMerge merge(table, piece);
    const auto next = [&](std::vector<Symbol>& into, size_t count) {
      return source.next(into, count);
    };
    if (merge.run(next, append)) return;
    out.resize(before);
    source.rewind();
  }
}

}  // namespace tenon
