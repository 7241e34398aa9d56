// CrossTable: all blocks of a source, or none.
#include "kv/cross_table.h"

namespace tenon {

void CrossTable::set_source_size(uint64_t tokens) {
  lose_rest();
  const uint32_t block_tokens = pool_->block_tokens();
  num_blocks_ = tokens / block_tokens + (tokens % block_tokens != 0 ? 1 : 0);
  blocks_.reserve(num_blocks_);
}

std::unique_ptr<CacheTable> CrossTable::fork() const {
  auto copy = std::make_unique<CrossTable>(pool_);
  copy->num_blocks_ = num_blocks_;
  copy->blocks_.reserve(num_blocks_);
  if (!is_filled_) return copy;
  for (const uint32_t block : blocks_) {
    pool_->retain(block);
    copy->blocks_.push_back(block);
  }
  copy->is_filled_ = true;
  return copy;
}

void CrossTable::prepare(uint64_t, uint64_t count) {
  if (count == 0 || !blocks_.empty()) return;
  try {
    while (blocks_.size() < num_blocks_) blocks_.push_back(pool_->allocate());
  } catch (...) {
    lose_rest();
    throw;
  }
}

uint64_t CrossTable::num_needed(uint64_t, uint64_t count) const {
  return count == 0 || !blocks_.empty() ? 0 : num_blocks_;
}

void CrossTable::lose_rest() noexcept {
  for (const uint32_t block : blocks_) pool_->release(block);
  blocks_.clear();
  is_filled_ = false;
}

}  // namespace tenon
