// BlockPool: borrowed slabs, a free list per slab, reference counts.
#include "kv/block_pool.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

#include "base/error.h"

namespace tenon {

BlockPool::BlockPool(std::shared_ptr<SlabPool> slabs, const BlockPoolOptions& options)
    : lender_(std::move(slabs)), options_(options) {
  if (options_.block_bytes == 0 || options_.block_tokens == 0 ||
      options_.block_bytes > lender_->slab_bytes()) {
    fail(Code::Internal, "KV pool: blocks of {} bytes and {} positions in slabs of {} bytes",
         options_.block_bytes, options_.block_tokens, lender_->slab_bytes());
  }
  // Block numbers have 32 bits, and one of them is kNoBlock.
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  blocks_per_slab_ =
      static_cast<uint32_t>(std::min(lender_->slab_bytes() / options_.block_bytes, kMost / 2));
  max_blocks_ = std::min(lender_->max_slabs(), kMost / blocks_per_slab_) * blocks_per_slab_;
}

BlockPool::~BlockPool() { assert(num_used_ == 0 && num_slabs_ == 0); }

void BlockPool::borrow_slab() {
  size_t slab = 0;
  while (slab < slabs_.size() && slabs_[slab].buffer != nullptr) ++slab;
  if ((slab + 1) * uint64_t{blocks_per_slab_} > max_blocks_) {
    fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
         options_.block_bytes, lender_->limit_bytes());
  }
  if (slab == slabs_.size()) {
    // Reserve first, so that nothing can throw once the slab is borrowed.
    const uint64_t blocks = (slab + 1) * uint64_t{blocks_per_slab_};
    references_.resize(blocks, 0);
    next_free_.resize(blocks, kNoBlock);
    indexed_.resize(blocks, 0);
    open_.resize((slab + 64) / 64, 0);
    slabs_.emplace_back();
  }
  slabs_[slab].buffer = lender_->lend(options_.block_bytes);
  const auto first = static_cast<uint32_t>(slab * blocks_per_slab_);
  for (uint32_t i = 0; i < blocks_per_slab_; ++i) {
    next_free_[first + i] = i + 1 < blocks_per_slab_ ? first + i + 1 : kNoBlock;
  }
  slabs_[slab].first_free = first;
  set_open(slab, true);
  ++num_slabs_;
}

void BlockPool::set_open(size_t slab, bool open) noexcept {
  const uint64_t bit = uint64_t{1} << (slab % 64);
  open ? open_[slab / 64] |= bit : open_[slab / 64] &= ~bit;
}

size_t BlockPool::first_open_slab() const {
  for (size_t word = 0; word < open_.size(); ++word) {
    if (open_[word] != 0) return word * 64 + static_cast<size_t>(std::countr_zero(open_[word]));
  }
  return slabs_.size();
}

uint32_t BlockPool::take_from(size_t slab) noexcept {
  Slab& from = slabs_[slab];
  const uint32_t block = from.first_free;
  from.first_free = next_free_[block];
  if (from.first_free == kNoBlock) set_open(slab, false);
  ++from.num_used;
  ++num_used_;
  references_[block] = 1;
  return block;
}

uint32_t BlockPool::allocate() {
  const std::scoped_lock lock(mutex_);
  size_t slab = first_open_slab();
  if (slab == slabs_.size()) {
    borrow_slab();
    slab = first_open_slab();
  }
  return take_from(slab);
}

uint32_t BlockPool::allocate_before(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  const size_t slab = first_open_slab();
  return slab < block / blocks_per_slab_ ? take_from(slab) : kNoBlock;
}

void BlockPool::retain(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  if (++references_[block] == 2 && indexed_[block] != 0) --num_idle_;
}

void BlockPool::release(uint32_t block) noexcept {
  const std::scoped_lock lock(mutex_);
  assert(references_[block] > 0);
  const uint32_t left = --references_[block];
  if (left == 1 && indexed_[block] != 0) ++num_idle_;
  if (left > 0) return;
  const size_t number = block / blocks_per_slab_;
  Slab& slab = slabs_[number];
  next_free_[block] = slab.first_free;
  slab.first_free = block;
  --num_used_;
  --slab.num_used;
  set_open(number, slab.num_used > 0);
  if (slab.num_used > 0) return;
  lender_->give_back(std::exchange(slab.buffer, nullptr));
  --num_slabs_;
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

uint64_t BlockPool::num_free() const {
  const std::scoped_lock lock(mutex_);
  return num_slabs_ * blocks_per_slab_ - num_used_;
}

uint64_t BlockPool::slabs_for(uint64_t count) const {
  const uint64_t free = num_free();
  if (count <= free) return 0;
  return (count - free + blocks_per_slab_ - 1) / blocks_per_slab_;
}

uint32_t BlockPool::references(uint32_t block) const noexcept {
  const std::scoped_lock lock(mutex_);
  return references_[block];
}

BlockPool::Place BlockPool::place(uint32_t block) const {
  const std::scoped_lock lock(mutex_);
  return {slabs_[block / blocks_per_slab_].buffer,
          uint64_t{block % blocks_per_slab_} * options_.block_bytes};
}

void BlockPool::copy(uint32_t to, uint32_t from) {
  const Place there = place(to);
  const Place here = place(from);
  lender_->memory().copy(there.slab, there.offset, here.slab, here.offset, options_.block_bytes);
}

void BlockPool::read(uint32_t block, void* out) {
  const Place from = place(block);
  lender_->memory().read(from.slab, from.offset, out, options_.block_bytes);
}

void BlockPool::write(uint32_t block, const void* in) {
  const Place to = place(block);
  lender_->memory().write(to.slab, to.offset, in, options_.block_bytes);
}

void BlockPool::copy_slabs(std::vector<tenon_buffer*>& out) const {
  const std::scoped_lock lock(mutex_);
  out.clear();
  if (out.capacity() < slabs_.size()) out.reserve(2 * slabs_.size());
  for (const Slab& slab : slabs_) out.push_back(slab.buffer);
}

uint64_t BlockPool::num_used() const {
  const std::scoped_lock lock(mutex_);
  return num_used_;
}

uint64_t BlockPool::size_bytes() const {
  const std::scoped_lock lock(mutex_);
  return num_slabs_ * lender_->slab_bytes();
}

std::vector<std::shared_ptr<BlockPool>> make_block_pools(SlabMemory& memory,
                                                         std::span<const BlockPoolOptions> groups,
                                                         uint64_t device_slab_bytes,
                                                         uint64_t budget_bytes) {
  std::vector<uint64_t> block_bytes;
  for (const BlockPoolOptions& group : groups) block_bytes.push_back(group.block_bytes);
  SlabPoolOptions options;
  options.slab_bytes = choose_slab_bytes(block_bytes, device_slab_bytes, budget_bytes);
  options.budget_bytes = budget_bytes;
  const auto slabs = std::make_shared<SlabPool>(memory, options);
  std::vector<std::shared_ptr<BlockPool>> pools;
  for (const BlockPoolOptions& group : groups) {
    pools.push_back(std::make_shared<BlockPool>(slabs, group));
  }
  return pools;
}

bool have_room(std::span<const std::shared_ptr<BlockPool>> pools,
               std::span<const uint64_t> needed) {
  for (PoolRange range{0, 0}; range.end < pools.size();) {
    range = pools_of_device(pools, range.end);
    uint64_t slabs = 0;
    for (size_t i = range.first; i < range.end; ++i) slabs += pools[i]->slabs_for(needed[i]);
    if (slabs > pools[range.first]->slab_pool()->num_available()) return false;
  }
  return true;
}

}  // namespace tenon
