// Back pointers of a Viterbi search: the piece that ends after each byte on the best paths, kept as
// far back as it may matter. unigram_model has the search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace tenon {

/// In a repetitive text the paths may never meet; their repeated choices are then stored once.
/// Positions are bytes from the start of the text; a piece that ends at `end` ends after byte end -
/// 1.
class BackPointers {
 public:
  static constexpr int32_t kNone = -1;  // no piece: a character outside all pieces
  /// Bytes stored per block: a multiple of many short periods.
  static constexpr size_t kBlock = 15120;

  /// Window for recording pieces that end after bytes [begin, end) of the text. Valid until the
  /// next call of a non-const function.
  struct Window {
    int32_t* pieces = nullptr;
    size_t begin = 0;
    size_t end = 0;
    void choose(size_t piece_end, int32_t piece) const { pieces[piece_end - 1 - begin] = piece; }
  };
  /// Returns a window that covers ends up to `end` at least.
  Window window(size_t end, size_t text_size) {
    const size_t needed = end - recent_begin_;
    if (recent_.size() < needed) {
      // Allocate the whole rest if it is small.
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

  /// Stores final choices of ends up to `end`, in whole blocks.
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

  /// Drops pieces that end at or before `end`.
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
  // Blocks that a new block is compared with: as many short periods.
  static constexpr size_t kKnown = 16;
  using Block = std::vector<int32_t>;

  void drop_recent(size_t count) {
    recent_.erase(recent_.begin(), recent_.begin() + static_cast<std::ptrdiff_t>(count));
    recent_begin_ += count;
  }

  size_t begin_ = 0;                                 // start of the first block
  std::deque<std::shared_ptr<const Block>> blocks_;  // [kBlock] each
  size_t recent_begin_ = 0;                          // end of the blocks
  std::vector<int32_t> recent_;
};

}  // namespace tenon
