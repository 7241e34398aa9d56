// tenon_measure_hardware, tenon_model_plan: what a model will take before it is loaded.
#include <algorithm>

#include "fence.h"
#include "model_handle.h"
#include "plan/planner.h"
#include "values.h"

using namespace tenon::capi;

namespace {

static_assert(std::size(tenon_hardware{}.decode_bytes_per_second) == tenon::kNumDecodeSizes);

tenon::Hardware hardware_in(const tenon_hardware* given) {
  const tenon_hardware known = struct_in(given, "tenon_hardware");
  tenon::Hardware hardware;
  hardware.threads = known.threads;
  hardware.memory_bytes = known.memory_bytes;
  hardware.process_bytes = known.process_bytes;
  std::ranges::copy(known.decode_bytes_per_second, hardware.decode_bytes_per_second.begin());
  hardware.prefill_multiplications_per_second = known.prefill_multiplications_per_second;
  hardware.cache_bytes_per_second = known.cache_bytes_per_second;
  hardware.attention_multiplications_per_second = known.attention_multiplications_per_second;
  return hardware;
}

tenon_hardware hardware_out(const tenon::Hardware& hardware) {
  tenon_hardware out{};
  out.threads = hardware.threads;
  out.memory_bytes = hardware.memory_bytes;
  out.process_bytes = hardware.process_bytes;
  std::ranges::copy(hardware.decode_bytes_per_second, out.decode_bytes_per_second);
  out.prefill_multiplications_per_second = hardware.prefill_multiplications_per_second;
  out.cache_bytes_per_second = hardware.cache_bytes_per_second;
  out.attention_multiplications_per_second = hardware.attention_multiplications_per_second;
  return out;
}

}  // namespace

tenon_status tenon_measure_hardware(const tenon_model* model, uint32_t flags,
                                    tenon_hardware* hardware) {
  return fence([&] {
    const tenon::Model& measured = *checked(model).model;
    check_flags(flags, TENON_MEASURE_SPEED);
    (void)checked_struct_size(hardware, "tenon_hardware");
    const bool speed = (flags & TENON_MEASURE_SPEED) != 0;
    struct_out(
        hardware_out(speed ? tenon::measure_hardware(measured) : tenon::measure_memory(measured)),
        hardware, "tenon_hardware");
  });
}

tenon_status tenon_model_plan(const tenon_model* model, uint64_t context, uint64_t sessions,
                              const tenon_hardware* hardware, tenon_plan* plan) {
  return fence([&] {
    const tenon::Model& planned = *checked(model).model;
    const tenon::Hardware machine = hardware_in(hardware);
    (void)checked_struct_size(plan, "tenon_plan");
    const tenon::Plan made = tenon::make_plan(planned, {context, sessions}, machine);
    tenon_plan out{};
    out.fits = made.fits ? 1 : 0;
    out.context = made.context;
    out.sessions = made.sessions;
    out.process_bytes = made.process_bytes;
    out.weights_bytes = made.weights_bytes;
    out.scratch_bytes = made.scratch_bytes;
    out.kv_bytes = made.kv_bytes;
    out.session_bytes = made.session_bytes;
    out.total_bytes = made.total_bytes;
    out.max_context = made.max_context;
    out.max_sessions = made.max_sessions;
    // Names of a table, which end in a NUL.
    out.fitting_cache_type = made.fitting_cache_type.empty() ? "" : made.fitting_cache_type.data();
    out.prefill_tokens_per_second = made.prefill_tokens_per_second;
    out.decode_tokens_per_second = made.decode_tokens_per_second;
    struct_out(out, plan, "tenon_plan");
  });
}
