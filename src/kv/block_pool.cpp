// BlockPool: slabs on demand, a free list, reference counts.
#include "kv/block_pool.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "base/error.h"

namespace tenon {

BlockPool::BlockPool(SlabMemory& memory, const BlockPoolOptions& options)
    : memory_(memory), options_(options) {
  if (options_.block_bytes == 0 || options_.block_tokens == 0) {
    fail(Code::Internal, "KV pool: blocks of {} bytes and {} positions", options_.block_bytes,
         options_.block_tokens);
  }
  const uint64_t wanted = options_.slab_bytes / options_.block_bytes;
  blocks_per_slab_ = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, 1024));
  // Block numbers are 32 bits wide.
  max_blocks_ = std::min<uint64_t>(options_.budget_bytes / options_.block_bytes,
                                   std::numeric_limits<uint32_t>::max());
}

BlockPool::~BlockPool() {
  assert(num_used() == 0);
  for (tenon_buffer* slab : slabs_) memory_.destroy(slab);
}

void BlockPool::add_slab() {
  const uint64_t num_blocks = references_.size();
  const uint64_t more = std::min<uint64_t>(blocks_per_slab_, max_blocks_ - num_blocks);
  if (more == 0) {
    fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
         options_.block_bytes, options_.budget_bytes);
  }
  // Room first, so that nothing can fail once the slab exists.
  slabs_.reserve(slabs_.size() + 1);
  references_.reserve(num_blocks + more);
  free_.reserve(num_blocks + more);
  slabs_.push_back(memory_.create(more * options_.block_bytes));
  references_.resize(num_blocks + more, 0);
  for (uint64_t i = more; i > 0; --i) free_.push_back(static_cast<uint32_t>(num_blocks + i - 1));
}

uint32_t BlockPool::allocate() {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) add_slab();
  const uint32_t block = free_.back();
  free_.pop_back();
  references_[block] = 1;
  return block;
}

void BlockPool::retain(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  ++references_[block];
}

void BlockPool::release(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  assert(references_[block] > 0);
  if (--references_[block] == 0) free_.push_back(block);  // has room for every block
}

uint32_t BlockPool::references(uint32_t block) const noexcept {
  const std::scoped_lock lock(mutex_);
  return references_[block];
}

void BlockPool::copy(uint32_t to, uint32_t from) {
  const auto slab = [this](uint32_t block) { return slabs_[block / blocks_per_slab_]; };
  const auto offset = [this](uint32_t block) {
    return uint64_t{block % blocks_per_slab_} * options_.block_bytes;
  };
  memory_.copy(slab(to), offset(to), slab(from), offset(from), options_.block_bytes);
}

tenon_kv_pool BlockPool::view() const {
  return {slabs_.data(), static_cast<uint32_t>(slabs_.size()), blocks_per_slab_};
}

uint64_t BlockPool::num_used() const {
  const std::scoped_lock lock(mutex_);
  return references_.size() - free_.size();
}

uint64_t BlockPool::size_bytes() const {
  const std::scoped_lock lock(mutex_);
  return references_.size() * options_.block_bytes;
}

}  // namespace tenon
