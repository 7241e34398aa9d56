#include "engine/cache_pools.h"

#include "model/placed_executable.h"

namespace tenon {

CachePools::CachePools(const Model& model, const EngineOptions& options)
    : CachePools(model, model.trunk(), options) {}

CachePools::CachePools(const Model& model, const ModelProgram& program,
                       const EngineOptions& options) {
  const PlacedExecutable& executable = *program.executable;
  std::vector<BlockPoolOptions> groups = cache_groups(program.program, executable);
  for (BlockPoolOptions& group : groups) {
    group.state_checkpoints = options.state_checkpoints;
    group.state_checkpoint_tokens = options.state_checkpoint_tokens;
  }
  std::vector<uint32_t> devices;
  const std::vector<DeviceCache> caches = device_caches(groups, executable, &devices);
  const std::vector<uint64_t> budgets = split_cache_budget(
      caches, {model.default_context(), program.program.view().max_tokens, 1}, options.cache_bytes);
  for (size_t i = 0; i < caches.size(); ++i) {
    slab_memory_.push_back(std::make_unique<DeviceSlabs>(executable.devices()[devices[i]].device));
    const auto own =
        make_block_pools(*slab_memory_.back(), caches[i].groups, caches[i].slab_bytes, budgets[i]);
    pools_.insert(pools_.end(), own.begin(), own.end());
  }
}

void CachePools::trim(const Turn&) noexcept {
  for_each_device([this](PoolRange device) {
    pools_[device.first]->slab_pool()->trim();
    return true;
  });
}

void CachePools::measure(EngineMetrics& metrics) const {
  for_each_device([this, &metrics](PoolRange device) {
    metrics.kv_held_bytes += pools_[device.first]->slab_pool()->held_bytes();
    return true;
  });
  for (const auto& pool : pools_) {
    metrics.kv_used_bytes += pool->num_used() * pool->block_bytes();
    metrics.kv_shared_bytes += pool->num_idle() * pool->block_bytes();
  }
}

void CachePools::clear(const Turn&) noexcept { pools_.clear(); }

}  // namespace tenon
