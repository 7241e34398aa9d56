// The back pointers of a Viterbi search: which piece ends after each byte on the best paths through
// a text, as far back as that may still matter. The search itself is in unigram_model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tenon {

/// A text that repeats itself may never come to a place that all paths pass; what is chosen there
/// repeats itself, too, and is kept once. Places are bytes from the start of the text; what ends at
/// `end` ends after byte end - 1.
class BackPointers {
 public:
  static constexpr int32_t kNone = -1;  // no piece: a character that none covers
  /// Bytes put away at a time: a multiple of many short periods.
  static constexpr size_t kBlock = 15120;

  /// Where pieces are chosen, until the next call of a function that is not const: for what ends
  /// after bytes [begin, end) of the text.
  struct Window {
    int32_t* pieces = nullptr;
    size_t begin = 0;
    size_t end = 0;
    void choose(size_t piece_end, int32_t piece) const { pieces[piece_end - 1 - begin] = piece; }
  };
  /// The window for what ends at `end` or before, and for more.
  Window window(size_t end, size_t text_size) {
    const size_t needed = end - recent_begin_;
    if (recent_.size() < needed) {
      // All that will ever be needed, where that is little.
      recent_.resize(std::min(std::max(2 * needed, 2 * kBlock), text_size - recent_begin_), kNone);
    }
    return {recent_.data(), recent_begin_, recent_begin_ + recent_.size()};
  }

  /// The piece that ends at `end`, or kNone.
  [[nodiscard]] int32_t piece(size_t end) const {
    const size_t at = end - 1 - begin_;
    const size_t block = at / kBlock;
    return block < blocks_.size() ? (*blocks_[block])[at % kBlock]
                                  : recent_[end - 1 - recent_begin_];
  }

  /// Puts away what is certain not to be chosen any more: ends up to `end`, in whole blocks.
  void put_away(size_t end) {
    while (end - recent_begin_ >= kBlock) {
      const auto block_end = recent_.begin() + static_cast<std::ptrdiff_t>(kBlock);
      const auto equal = [&](const std::shared_ptr<const Block>& other) {
        return std::equal(recent_.begin(), block_end, other->begin());
      };
      const auto begin =
          blocks_.end() - static_cast<std::ptrdiff_t>(std::min(blocks_.size(), kKnown));
      const auto known = std::find_if(begin, blocks_.end(), equal);
      blocks_.push_back(known != blocks_.end()
                            ? *known
                            : std::make_shared<const Block>(recent_.begin(), block_end));
      drop_recent(kBlock);
    }
  }

  /// Forgets what ends at `end` and before.
  void forget(size_t end) {
    while (!blocks_.empty() && begin_ + kBlock <= end) {
      blocks_.pop_front();
      begin_ += kBlock;
    }
    if (end <= recent_begin_) return;
    drop_recent(end - recent_begin_);
    begin_ = recent_begin_;
  }

 private:
  static constexpr size_t kKnown = 16;  // blocks that a new one may repeat: as many short periods
  using Block = std::vector<int32_t>;

  void drop_recent(size_t count) {
    recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(count));
    recent_begin_ += count;
  }

  size_t begin_ = 0;                                 // of the first block
  std::deque<std::shared_ptr<const Block>> blocks_;  // [kBlock] each
  size_t recent_begin_ = 0;                          // after the blocks
  std::vector<int32_t> recent_;
};

}  // namespace tenon
