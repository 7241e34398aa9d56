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
  if (options_.budget == nullptr) {
    options_.budget = std::make_shared<KvBudget>(options_.budget_bytes);
  }
  const uint64_t wanted = options_.slab_bytes / options_.block_bytes;
  blocks_per_slab_ = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, 1024));
  // Block numbers are 32 bits wide.
  max_blocks_ = std::min<uint64_t>(options_.budget->limit_bytes() / options_.block_bytes,
                                   std::numeric_limits<uint32_t>::max());
}

BlockPool::~BlockPool() {
  assert(num_used() == 0);
  for (tenon_buffer* slab : slabs_) memory_.destroy(slab);
  options_.budget->give_back(references_.size() * options_.block_bytes);
}

void BlockPool::add_slab() {
  const uint64_t num_blocks = references_.size();
  uint64_t more = std::min<uint64_t>(blocks_per_slab_, max_blocks_ - num_blocks);
  more = std::min(more, options_.budget->left_bytes() / options_.block_bytes);
  // Behind a slab that was cut short block numbers would not tell the slab.
  if (num_blocks % blocks_per_slab_ != 0) more = 0;
  if (more == 0) {
    fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
         options_.block_bytes, options_.budget->limit_bytes());
  }
  // Room first, so that nothing can fail once the slab exists.
  slabs_.reserve(slabs_.size() + 1);
  references_.reserve(num_blocks + more);
  indexed_.reserve(num_blocks + more);
  free_.reserve(num_blocks + more);
  // Engines of one model take turns, so nobody took it meanwhile.
  if (!options_.budget->take(more * options_.block_bytes)) {
    fail(Code::NoMemory, "KV cache: the budget of {} bytes is used up",
         options_.budget->limit_bytes());
  }
  try {
    slabs_.push_back(memory_.create(more * options_.block_bytes));
  } catch (...) {
    options_.budget->give_back(more * options_.block_bytes);
    throw;
  }
  references_.resize(num_blocks + more, 0);
  indexed_.resize(num_blocks + more, 0);
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
  if (++references_[block] == 2 && indexed_[block] != 0) --num_idle_;
}

void BlockPool::release(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  assert(references_[block] > 0);
  const uint32_t left = --references_[block];
  if (left == 0) free_.push_back(block);  // has room for every block
  if (left == 1 && indexed_[block] != 0) ++num_idle_;
}

void BlockPool::set_indexed(uint32_t block, bool indexed) noexcept {
  const std::scoped_lock lock(mutex_);
  if (references_[block] == 1 && indexed != (indexed_[block] != 0)) {
    indexed ? ++num_idle_ : --num_idle_;
  }
  indexed_[block] = indexed ? 1 : 0;
}

uint64_t BlockPool::num_idle() const {
  const std::scoped_lock lock(mutex_);
  return num_idle_;
}

uint64_t BlockPool::num_available() const {
  const std::scoped_lock lock(mutex_);
  if (references_.size() % blocks_per_slab_ != 0) return free_.size();
  const uint64_t growth = std::min<uint64_t>(max_blocks_ - references_.size(),
                                             options_.budget->left_bytes() / options_.block_bytes);
  return free_.size() + growth;
}

uint32_t BlockPool::references(uint32_t block) const noexcept {
  const std::scoped_lock lock(mutex_);
  return references_[block];
}

BlockPool::Place BlockPool::place(uint32_t block) const {
  return {slabs_[block / blocks_per_slab_],
          uint64_t{block % blocks_per_slab_} * options_.block_bytes};
}

void BlockPool::copy(uint32_t to, uint32_t from) {
  const Place there = place(to);
  const Place here = place(from);
  memory_.copy(there.slab, there.offset, here.slab, here.offset, options_.block_bytes);
}

void BlockPool::read(uint32_t block, void* out) {
  const Place from = place(block);
  memory_.read(from.slab, from.offset, out, options_.block_bytes);
}

void BlockPool::write(uint32_t block, const void* in) {
  const Place to = place(block);
  memory_.write(to.slab, to.offset, in, options_.block_bytes);
}

tenon_cache_pool BlockPool::view() const {
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
