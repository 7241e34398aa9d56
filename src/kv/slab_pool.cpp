// SlabPool: a free list under a budget, and the choice of the slab size.
#include "kv/slab_pool.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"

namespace tenon {
namespace {

/// Divides the device's preferred size if several groups share the slabs, for the reason of
/// kLeastSlabs.
constexpr uint64_t kPartOfSeveral = 4;

}  // namespace

uint64_t choose_slab_bytes(std::span<const uint64_t> block_bytes, uint64_t device_bytes,
                           uint64_t budget_bytes) {
  if (block_bytes.empty()) return std::max<uint64_t>(device_bytes, 1);
  const uint64_t largest = std::ranges::max(block_bytes);
  uint64_t wanted = std::min(device_bytes, budget_bytes / kLeastSlabs / block_bytes.size());
  if (block_bytes.size() > 1) wanted /= kPartOfSeveral;
  const uint64_t most = std::clamp<uint64_t>(wanted / largest, 1, kMostSlabBlocks);
  const auto waste = [&](uint64_t slab_bytes) {
    // Fractions of a slab, and of the budget, that no block can use.
    double sum = 0;
    for (const uint64_t block : block_bytes) {
      sum += static_cast<double>(slab_bytes % block) / static_cast<double>(slab_bytes);
    }
    sum /= static_cast<double>(block_bytes.size());
    if (budget_bytes == UINT64_MAX) return sum;
    return sum + static_cast<double>(budget_bytes % slab_bytes) / static_cast<double>(budget_bytes);
  };
  uint64_t best = most;
  for (uint64_t count = most; count >= (most + 1) / 2; --count) {
    if (waste(count * largest) < waste(best * largest)) best = count;
  }
  return best * largest;
}

SlabPool::SlabPool(SlabMemory& memory, const SlabPoolOptions& options)
    : memory_(memory), options_(options) {
  if (options_.slab_bytes == 0) fail(Code::Internal, "slab pool: slabs of no bytes");
  max_slabs_ = options_.budget_bytes / options_.slab_bytes;
}

SlabPool::~SlabPool() {
  assert(num_lent_ == 0);
  for (tenon_buffer* slab : free_) memory_.destroy(slab);
}

tenon_buffer* SlabPool::lend(uint64_t needed_bytes) {
  const std::scoped_lock lock(mutex_);
  if (free_.empty()) {
    if (num_lent_ >= max_slabs_) {
      fail(Code::NoMemory, "KV cache: needs {} more bytes, the budget of {} bytes is used up",
           needed_bytes, options_.budget_bytes);
    }
    // Reserve first, so that nothing can throw once the slab exists.
    if (num_lent_ >= free_.capacity()) free_.reserve(std::max<uint64_t>(16, 2 * num_lent_));
    free_.push_back(memory_.create(options_.slab_bytes));
  }
  tenon_buffer* slab = free_.back();
  free_.pop_back();
  ++num_lent_;
  return slab;
}

void SlabPool::give_back(tenon_buffer* slab) noexcept {
  const std::scoped_lock lock(mutex_);
  --num_lent_;
  free_.push_back(slab);
}

void SlabPool::trim() noexcept {
  const std::scoped_lock lock(mutex_);
  const uint64_t kept = num_lent_ / 8 + 1;
  while (free_.size() > kept) {
    memory_.destroy(free_.back());
    free_.pop_back();
  }
}

uint64_t SlabPool::num_available() const {
  const std::scoped_lock lock(mutex_);
  return max_slabs_ - num_lent_;
}

uint64_t SlabPool::held_bytes() const {
  const std::scoped_lock lock(mutex_);
  return (num_lent_ + free_.size()) * options_.slab_bytes;
}

}  // namespace tenon
