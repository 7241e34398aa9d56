#include "text/merger.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <unordered_map>

namespace tenon {
namespace {

// Up to here a scan for the lowest rank beats the queue; an English word has about five symbols.
constexpr size_t kShort = 48;

uint64_t merge_short(const MergeTable& table, std::vector<Symbol>& symbols) {
  std::array<Merge, kShort> merges;  // merges[i]: of symbols i and i + 1
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

/// The merging of a long sequence: a linked list of symbols and a queue of positions per rank.
/// Queue entries are never withdrawn; one whose pair has changed is dropped when its turn comes.
class LongMerge {
 public:
  LongMerge(const MergeTable& table, std::vector<Symbol>& symbols)
      : table_(table), symbols_(symbols), next_(symbols.size()), previous_(symbols.size()) {
    const auto size = static_cast<uint32_t>(symbols.size());
    for (uint32_t i = 0; i < size; ++i) {
      next_[i] = i + 1 < size ? i + 1 : kNone;
      previous_[i] = i > 0 ? i - 1 : kNone;
    }
  }

  uint64_t run() {
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
    compact();
    return work_;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

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
    for (uint32_t i = 0; i != kNone; i = next_[i]) symbols_[size++] = symbols_[i];
    symbols_.resize(size);
  }

  const MergeTable& table_;
  std::vector<Symbol>& symbols_;
  std::vector<uint32_t> next_;  // a symbol that is gone points at itself
  std::vector<uint32_t> previous_;
  std::unordered_map<uint32_t, PositionQueue> queues_;
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ranks_;
  PositionQueue* recent_ = nullptr;  // the queue of recent_rank_: neighbours often share a rank
  uint32_t recent_rank_ = 0;
  uint64_t work_ = 0;
};

/// Whether any two neighbours merge.
bool any_merges(const MergeTable& table, const std::vector<Symbol>& symbols) {
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
  return LongMerge(table, symbols).run();
}

}  // namespace tenon
