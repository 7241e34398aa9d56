// BlockTable: prepare, truncate, fork.
#include "kv/block_table.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

uint64_t blocks_for(uint64_t positions, uint32_t block_tokens) {
  return positions / block_tokens + (positions % block_tokens != 0 ? 1 : 0);
}

/// Positions that get room in the table at once; a table for more grows.
constexpr uint64_t kReservedPositions = uint64_t{1} << 17;

}  // namespace

BlockTable::BlockTable(std::shared_ptr<BlockPool> pool, uint64_t max_positions)
    : pool_(std::move(pool)), max_positions_(max_positions) {
  blocks_.reserve(blocks_for(std::min(max_positions, kReservedPositions), pool_->block_tokens()));
}

BlockTable::~BlockTable() { truncate(0); }

BlockTable::BlockTable(BlockTable&& other) noexcept
    : pool_(other.pool_),
      max_positions_(other.max_positions_),
      blocks_(std::exchange(other.blocks_, {})) {}

BlockTable BlockTable::fork() const {
  BlockTable copy(pool_, max_positions_);
  copy.blocks_.reserve(blocks_.size());  // no block may be held without a place in the table
  for (const uint32_t block : blocks_) {
    pool_->retain(block);
    copy.blocks_.push_back(block);
  }
  return copy;
}

void BlockTable::prepare(uint64_t past, uint64_t count) {
  const uint32_t block_tokens = pool_->block_tokens();
  if (count > max_positions_ || past > max_positions_ - count ||
      past > blocks_.size() * uint64_t{block_tokens}) {
    fail(Code::Internal, "block table: positions {}..{} of at most {}, {} blocks held", past,
         past + count, max_positions_, blocks_.size());
  }
  if (count == 0) return;
  truncate(past);
  // Only the block that holds `past` can be shared now: those behind it are gone.
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
    if (needed > blocks_.capacity()) blocks_.reserve(std::max(needed, 2 * blocks_.capacity()));
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
  const bool copies =
      past % block_tokens != 0 && kept <= blocks_.size() && pool_->references(blocks_[kept - 1]) > 1;
  return blocks_for(past + count, block_tokens) - kept + (copies ? 1 : 0);
}

void BlockTable::adopt(uint64_t index, uint32_t block) {
  if (index > blocks_.size()) {
    fail(Code::Internal, "block table: block {} adopted, {} are held", index, blocks_.size());
  }
  if (index < blocks_.size()) {
    if (blocks_[index] == block) return;
    pool_->retain(block);
    pool_->release(std::exchange(blocks_[index], block));
    return;
  }
  if (blocks_.size() == blocks_.capacity()) {
    blocks_.reserve(std::max<uint64_t>(16, 2 * blocks_.capacity()));
  }
  pool_->retain(block);
  blocks_.push_back(block);
}

void BlockTable::truncate(uint64_t positions) noexcept {
  const uint64_t kept = blocks_for(positions, pool_->block_tokens());
  while (blocks_.size() > kept) {
    pool_->release(blocks_.back());
    blocks_.pop_back();
  }
}

}  // namespace tenon
