// Cache memory of an engine: a pool of blocks per cache group, on the devices of the model.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/device_turn.h"
#include "engine/device_slabs.h"
#include "engine/engine_options.h"
#include "engine/metrics.h"
#include "kv/block_pool.h"
#include "model/model.h"

namespace tenon {

/// Any thread. The devices share one budget.
class CachePools {
 public:
  using Turn = DeviceTurn::Held;

  /// Pools of the model's trunk. Throws NoMemory.
  CachePools(const Model& model, const EngineOptions& options);
  /// Pools of one of its programs.
  CachePools(const Model& model, const ModelProgram& program, const EngineOptions& options);

  /// [groups]
  [[nodiscard]] std::span<const std::shared_ptr<BlockPool>> all() const { return pools_; }
  [[nodiscard]] size_t size() const { return pools_.size(); }
  /// Calls visit(PoolRange) for each device until it returns false; returns false then.
  template <typename Visit>
  bool for_each_device(Visit visit) const {
    for (PoolRange device{0, 0}; device.end < pools_.size();) {
      device = pools_of_device(pools_, device.end);
      if (!visit(device)) return false;
    }
    return true;
  }
  /// Returns unused slabs to the devices, except a few.
  void trim(const Turn& turn) noexcept;
  /// Sets the kv_*_bytes, except the limit.
  void measure(EngineMetrics& metrics) const;
  /// Gives up the pools; those of sequences stay with them.
  void clear(const Turn& turn) noexcept;

 private:
  std::vector<std::unique_ptr<DeviceSlabs>> slab_memory_;  // [devices]
  std::vector<std::shared_ptr<BlockPool>> pools_;          // [groups]
};

}  // namespace tenon
