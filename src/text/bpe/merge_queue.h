// BPE merging with a priority queue: O(n log n) at worst for n symbols. merge_symbols handles short
// sequences itself; chunked_merge splits sequences that exceed the cache.
//
//   ranks: (l, o) 0, (h, e) 1, (he, l) 2      h e l l o  ->  h e l lo  ->  he l lo  ->  hel lo
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <unordered_map>
#include <vector>

#include "text/bpe/merge_table.h"

namespace tenon {

/// Positions of pairs of one rank, lowest first. Positions pushed before the first pop are kept in
/// a list (they nearly always arrive in order), later ones in a heap.
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

/// Merging of long sequences: a linked list of symbols and a queue of positions per rank. Queue
/// entries are never withdrawn; entries whose pair has changed are skipped when popped. Scratch is
/// reused.
class MergeQueue {
 public:
  explicit MergeQueue(const MergeTable& table) : table_(table) {}

  /// Merges `from` into symbols() and begins(). Returns the number of pairs looked at.
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
  /// [symbols] index of each one's first original symbol.
  [[nodiscard]] const std::vector<uint32_t>& begins() const { return begins_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void run() {
    const auto size = static_cast<uint32_t>(symbols_.size());
    for (uint32_t i = 0; i + 1 < size; ++i) enqueue(i);
    while (!ranks_.empty()) {
      const uint32_t rank = ranks_.top();
      PositionQueue& queue = queues_.at(rank);
      // A merge may create a lower rank, which goes first.
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

  /// Queues the pair at `position` if it merges.
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
    if (next_[left] == left) return;  // merged into its left neighbour since
    const uint32_t right = next_[left];
    if (right == kNone) return;
    ++work_;
    const Merge merge = table_.find(symbols_[left], symbols_[right]);
    if (merge.rank != rank) return;
    symbols_[left] = merge.result;
    next_[left] = next_[right];
    if (next_[right] != kNone) previous_[next_[right]] = left;
    next_[right] = right;  // marks it as merged
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
  std::vector<uint32_t> next_;  // a merged symbol points at itself
  std::vector<uint32_t> previous_;
  std::unordered_map<uint32_t, PositionQueue> queues_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;
  PositionQueue* recent_ = nullptr;  // queue of recent_rank_: neighbours often share a rank
  uint32_t recent_rank_ = 0;
  uint64_t work_ = 0;
};

}  // namespace tenon
