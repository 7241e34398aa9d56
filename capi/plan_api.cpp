// tenon_measure_hardware, tenon_model_plan, tenon_placement_*: a model's needs before it is loaded.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fence.h"
#include "model_handle.h"
#include "plan/planner.h"
#include "values.h"

struct tenon_placement : tenon::capi::Handle<tenon_placement> {
  static constexpr auto kMagic = tenon::capi::Magic::Placement;
  static constexpr const char* kName = "placement";

  std::vector<tenon::DevicePlan> devices;
};

using namespace tenon::capi;

namespace {

static_assert(TENON_DEVICE_KIND_REFERENCE == TENON_DEVICE_REFERENCE);
static_assert(TENON_DEVICE_KIND_CPU == TENON_DEVICE_CPU);
static_assert(TENON_DEVICE_KIND_GPU == TENON_DEVICE_GPU);
static_assert(TENON_DEVICE_KIND_ACCELERATOR == TENON_DEVICE_ACCELERATOR);

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
    checked(model).host->note_context(made.context, planned.spec().trained_context);
    out.sessions = made.sessions;
    out.process_bytes = made.process_bytes;
    out.weights_bytes = made.weights_bytes;
    out.scratch_bytes = made.scratch_bytes;
    out.kv_bytes = made.kv_bytes;
    out.session_bytes = made.session_bytes;
    out.total_bytes = made.total_bytes;
    out.max_context = made.max_context;
    out.max_sessions = made.max_sessions;
    // Names of a table, which are NUL-terminated.
    out.fitting_cache_type = made.fitting_cache_type.empty() ? "" : made.fitting_cache_type.data();
    out.prefill_tokens_per_second = made.prefill_tokens_per_second;
    out.decode_tokens_per_second = made.decode_tokens_per_second;
    out.fitting_gpu_layers = made.fitting_gpu_layers;
    struct_out(out, plan, "tenon_plan");
  });
}

tenon_status tenon_placement_create(const tenon_model* model, uint64_t context, uint64_t sessions,
                                    const tenon_hardware* hardware, tenon_placement** placement) {
  return fence([&] {
    tenon_placement*& out = checked_out(placement, "placement");
    const tenon::Model& planned = *checked(model).model;
    const tenon::Hardware machine = hardware_in(hardware);
    auto made = std::make_unique<tenon_placement>();
    made->devices = tenon::make_plan(planned, {context, sessions}, machine).devices;
    out = made.release();
  });
}

void tenon_placement_destroy(tenon_placement* placement) { destroy(placement); }

size_t tenon_placement_count(const tenon_placement* placement) {
  const HandlesInUse call;
  const tenon_placement* live = live_or_null(placement);
  return live == nullptr ? 0 : live->devices.size();
}

tenon_status tenon_placement_get_device(const tenon_placement* placement, size_t index,
                                        tenon_placed_device* device) {
  return fence([&] {
    const std::vector<tenon::DevicePlan>& devices = checked(placement).devices;
    if (index >= devices.size()) {
      tenon::fail(tenon::Code::Argument, "device {} of a placement does not exist; there are {}",
                  index, devices.size());
    }
    const tenon::DevicePlan& plan = devices[index];
    tenon_placed_device out{};
    out.kind = static_cast<int32_t>(plan.kind);
    out.backend = plan.backend.data();
    out.backend_length = plan.backend.size();
    out.name = plan.device.data();
    out.name_length = plan.device.size();
    out.layers = plan.layers;
    out.weights_bytes = plan.weights_bytes;
    out.scratch_bytes = plan.scratch_bytes;
    out.kv_bytes = plan.kv_bytes;
    out.total_bytes = plan.total_bytes;
    out.memory_bytes = plan.memory_bytes;
    out.has_own_memory = plan.has_own_memory ? 1 : 0;
    out.fits = plan.fits ? 1 : 0;
    struct_out(out, device, "tenon_placed_device");
  });
}
