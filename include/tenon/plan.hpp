// Predicts a model's memory and speed before its weights are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tenon/error.hpp>
#include <tenon/model.hpp>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Measures this machine for a model (opened with inspect, or loaded) and its options. Costs
/// nothing without speeds; with them, seconds and up to 1.5 GiB of memory.
[[nodiscard]] inline tenon_hardware measure_hardware(const Model& model, bool speed = true) {
  tenon_hardware hardware{};
  hardware.struct_size = sizeof hardware;
  check(tenon_measure_hardware(model.get(), speed ? TENON_MEASURE_SPEED : 0, &hardware));
  return hardware;
}

struct PlanOptions {
  uint64_t context = 0;   ///< per session; 0: a session's default
  uint64_t sessions = 1;  ///< with full contexts
};

/// A pure function; tenon.h, section 15, explains the figures.
[[nodiscard]] inline tenon_plan plan(const Model& model, const tenon_hardware& hardware,
                                     const PlanOptions& options = {}) {
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  check(tenon_model_plan(model.get(), options.context, options.sessions, &hardware, &plan));
  return plan;
}

/// One device's part of a model; tenon_placed_device explains the figures.
struct PlacedDevice {
  int32_t kind = 0;  ///< TENON_DEVICE_KIND_*
  std::string backend{};
  std::string name{};
  uint64_t layers = 0;
  uint64_t weights_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t kv_bytes = 0;
  uint64_t total_bytes = 0;
  uint64_t memory_bytes = 0;
  bool has_own_memory = false;
  bool fits = false;
};

/// Devices that hold the model's layers, in the order in which steps run on them.
[[nodiscard]] inline std::vector<PlacedDevice> placement(const Model& model,
                                                         const tenon_hardware& hardware,
                                                         const PlanOptions& options = {}) {
  struct Destroy {
    void operator()(tenon_placement* raw) const noexcept { tenon_placement_destroy(raw); }
  };
  tenon_placement* raw = nullptr;
  check(tenon_placement_create(model.get(), options.context, options.sessions, &hardware, &raw));
  const std::unique_ptr<tenon_placement, Destroy> owner(raw);
  std::vector<PlacedDevice> devices;
  for (size_t i = 0; i < tenon_placement_count(raw); ++i) {
    tenon_placed_device device{};
    device.struct_size = sizeof device;
    check(tenon_placement_get_device(raw, i, &device));
    devices.push_back({device.kind, std::string(device.backend, device.backend_length),
                       std::string(device.name, device.name_length), device.layers,
                       device.weights_bytes, device.scratch_bytes, device.kv_bytes,
                       device.total_bytes, device.memory_bytes, device.has_own_memory != 0,
                       device.fits != 0});
  }
  return devices;
}

}  // namespace v1
}  // namespace tenon
