// BlockTable: prepare, trim, truncate, fork.
#include "kv/block_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

uint64_t blocks_for(uint64_t positions, uint32_t block_tokens) {
  return positions / block_tokens + (positions % block_tokens != 0 ? 1 : 0);
}

/// Positions reserved in a new table; longer tables grow.
constexpr uint64_t kReservedPositions = uint64_t{1} << 17;

}  // namespace

BlockTable::BlockTable(std::shared_ptr<BlockPool> pool, uint64_t max_positions)
    : CacheTable(std::move(pool)), max_positions_(max_positions) {
  blocks_.reserve(blocks_for(std::min(max_positions, kReservedPositions), pool_->block_tokens()));
}

BlockTable::~BlockTable() { truncate(0); }

std::unique_ptr<CacheTable> BlockTable::fork() const {
  auto copy = std::make_unique<BlockTable>(pool_, max_positions_);
  copy->reserve(blocks_.size());  // no block may be held without an entry
  copy->first_held_ = first_held_;
  for (const uint32_t block : blocks_) {
    if (block != kNoBlock) pool_->retain(block);
    copy->blocks_.push_back(block);
  }
  return copy;
}

/// True if a token at the beginning of a block sees no earlier block: strides end with blocks.
bool BlockTable::blocks_stand_alone() const {
  const BlockPoolOptions& options = pool_->options();
  return options.stride > 1 && options.block_tokens % options.stride == 0;
}

/// Index of the block with the first position that a token at `past` sees.
uint64_t BlockTable::first_seen(uint64_t past) const {
  if (blocks_stand_alone()) {
    return (past - past % pool_->options().stride) / pool_->block_tokens();
  }
  const uint32_t window = pool_->options().window;
  return window == 0 || past < window ? 0 : (past - window + 1) / pool_->block_tokens();
}

void BlockTable::prepare(uint64_t past, uint64_t count) {
  const uint32_t block_tokens = pool_->block_tokens();
  if (count > max_positions_ || past > max_positions_ - count || resumable(past) != past) {
    fail(Code::Internal, "block table: positions {}..{} of at most {}, blocks {}..{} held", past,
         past + count, max_positions_, first_held_, blocks_.size());
  }
  if (count == 0) return;
  truncate(past);
  // Only the block of `past` can still be shared: truncate() released those after it.
  if (past % block_tokens != 0 && pool_->references(blocks_.back()) > 1) {
    const uint32_t copy = pool_->allocate();
    try {
      pool_->copy(copy, blocks_.back());
    } catch (...) {
      pool_->release(copy);
      throw;
    }
    pool_->release(std::exchange(blocks_.back(), copy));
  }
  const uint64_t needed = blocks_for(past + count, block_tokens);
  try {
    reserve(needed);
    while (blocks_.size() < needed) blocks_.push_back(pool_->allocate());
  } catch (...) {
    truncate(past);
    throw;
  }
}

uint64_t BlockTable::num_needed(uint64_t past, uint64_t count) const {
  if (count == 0) return 0;
  const uint32_t block_tokens = pool_->block_tokens();
  const uint64_t kept = blocks_for(past, block_tokens);
  const bool copies = past % block_tokens != 0 && kept <= blocks_.size() && kept > first_held_ &&
                      pool_->references(blocks_[kept - 1]) > 1;
  return blocks_for(past + count, block_tokens) - kept + (copies ? 1 : 0);
}

uint64_t BlockTable::most_held(const BlockPoolOptions& group, uint64_t end, uint64_t slice) {
  const uint64_t all = blocks_for(end, group.block_tokens);
  if (group.window == 0) return all;
  // Two more: the spare block before the window, and a window that begins inside a block.
  return std::min(all, blocks_for(uint64_t{group.window} - 1 + slice, group.block_tokens) + 2);
}

uint64_t BlockTable::most_blocks(uint64_t end, uint64_t slice) const {
  return most_held(pool_->options(), end, slice);
}

uint64_t BlockTable::num_needed_in_all(uint64_t past, uint64_t count, uint64_t slice) const {
  const uint64_t needed = num_needed(past, count);
  if (pool_->options().window == 0) return needed;
  const uint64_t most = most_blocks(past + count, slice);
  return std::min(needed, most - std::min(most, num_held()));
}

void BlockTable::trim(uint64_t past) noexcept {
  const uint64_t seen = std::min<uint64_t>(first_seen(past), blocks_.size());
  for (; first_held_ + 1 < seen; ++first_held_) {
    pool_->release(std::exchange(blocks_[first_held_], kNoBlock));
  }
}

uint64_t BlockTable::resumable(uint64_t position) const {
  const uint64_t end = std::min(position, blocks_.size() * uint64_t{pool_->block_tokens()});
  if (first_seen(end) >= first_held_) return end;
  return blocks_stand_alone() ? end - end % pool_->block_tokens() : 0;
}

void BlockTable::truncate(uint64_t position) noexcept {
  const uint64_t kept = blocks_for(position, pool_->block_tokens());
  while (blocks_.size() > kept) {
    if (blocks_.back() != kNoBlock) pool_->release(blocks_.back());
    blocks_.pop_back();
  }
  first_held_ = std::min<uint64_t>(first_held_, blocks_.size());
}

uint32_t BlockTable::shared_block(uint64_t index) const {
  return index < blocks_.size() ? blocks_[index] : kNoBlock;
}

uint64_t BlockTable::first_needed(uint64_t num_blocks) const {
  const uint64_t last = num_blocks - std::min<uint64_t>(num_blocks, 1);
  return std::min(first_seen(num_blocks * pool_->block_tokens()), last);
}

void BlockTable::reserve(uint64_t num_blocks) {
  if (num_blocks <= blocks_.capacity()) return;
  blocks_.reserve(std::max<uint64_t>({num_blocks, 16, 2 * blocks_.capacity()}));
}

void BlockTable::adopt(uint64_t index, uint32_t block) noexcept {
  if (index > blocks_.size()) {  // a window that starts later
    truncate(0);
    blocks_.resize(index, kNoBlock);
    first_held_ = index;
  }
  if (index == blocks_.size()) {
    pool_->retain(block);
    blocks_.push_back(block);
  } else if (index >= first_held_ && blocks_[index] != block) {
    pool_->retain(block);
    pool_->release(std::exchange(blocks_[index], block));
  }
}

void BlockTable::compact() {
  for (uint64_t i = first_held_; i < blocks_.size(); ++i) {
    if (pool_->references(blocks_[i]) > 1) continue;
    const uint32_t place = pool_->allocate_before(blocks_[i]);
    if (place == kNoBlock) continue;
    try {
      pool_->copy(place, blocks_[i]);
    } catch (...) {
      pool_->release(place);
      throw;
    }
    pool_->release(std::exchange(blocks_[i], place));
  }
}

}  // namespace tenon
