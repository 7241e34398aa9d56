// What a model will take and how fast it will be, before its weights are read.
#pragma once

#include <cstdint>
#include <tenon/error.hpp>
#include <tenon/model.hpp>

namespace tenon {
inline namespace v1 {

/// Of this machine, for a model (opened with inspect, or loaded) and its options. Without the
/// speeds it costs nothing; with them, seconds and some memory.
[[nodiscard]] inline tenon_hardware measure_hardware(const Model& model, bool speed = true) {
  tenon_hardware hardware{};
  hardware.struct_size = sizeof hardware;
  check(tenon_measure_hardware(model.get(), speed ? TENON_MEASURE_SPEED : 0, &hardware));
  return hardware;
}

struct PlanOptions {
  uint64_t context = 0;   ///< of each session; 0: a session's default
  uint64_t sessions = 1;  ///< whose contexts are full
};

/// A pure function; tenon.h, section 15, tells the meaning of the figures.
[[nodiscard]] inline tenon_plan plan(const Model& model, const tenon_hardware& hardware,
                                     const PlanOptions& options = {}) {
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  check(tenon_model_plan(model.get(), options.context, options.sessions, &hardware, &plan));
  return plan;
}

}  // namespace v1
}  // namespace tenon
