#include "plan/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arch/architectures.h"
#include "base/error.h"
#include "base/reserving_system.h"
#include "base/saturating.h"
#include "kv/cache_forecast.h"
#include "model/model_executable.h"
#include "model/private_cache.h"
#include "model/program_facts.h"
#include "program/cache_types.h"
#include "sampler/candidates_memory.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxContext = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxSessions = uint64_t{1} << 20;

/// Saturated size: no memory has 64 bits of bytes, so it fits nowhere.
constexpr uint64_t kTooMuch = UINT64_MAX;

/// Memory of a model with one cache type. Asks the backend for sizes: compiles the program into
/// reserved address space.
class Needs {
 public:
  Needs(const Model& model, const ModelOptions& options, const Hardware& hardware)
      : vocab_(model.spec().vocab),
        threads_(hardware.threads),
        process_bytes_(hardware.process_bytes) {
    const auto build = [&](const StepSizes& sizes) {
      return build_program(model.file(), program_options(options, model.spec(), sizes));
    };
    BuiltProgram built = build({});
    std::unique_ptr<PlacedExecutable> executable = make_executable(built, options, build);
    slice_ = built.program.view().max_tokens;
    table_bytes_ = row_cache_bytes(built.tables, options.row_cache_bytes);
    host_scratch_bytes_ = executable->carried_bytes() + fetched_row_bytes(built.tables, slice_);
    for (const PlacedDevice& placed : executable->devices()) {
      DeviceNeeds& device = devices_.emplace_back();
      const auto number = static_cast<uint32_t>(devices_.size() - 1);
      device.plan.backend = placed.device->name();
      device.plan.device = placed.device->info().name;
      device.plan.kind = placed.device->info().kind;
      device.plan.layers = placed.layers;
      device.plan.weights_bytes = executable->memory_bytes(TENON_MEMORY_WEIGHTS, number);
      device.plan.scratch_bytes = executable->memory_bytes(TENON_MEMORY_SCRATCH, number);
      device.plan.memory_bytes = placed.memory_bytes == UINT64_MAX ? 0 : placed.memory_bytes;
      device.plan.has_own_memory = placed.has_own_memory();
    }
    std::vector<uint32_t> numbers;
    const std::vector<DeviceCache> caches =
        device_caches(cache_groups(built.program, *executable), *executable, &numbers);
    for (size_t i = 0; i < caches.size(); ++i) devices_[numbers[i]].cache = caches[i];
    add_programs_beside(model, options, *executable, !has_packed_weights(built.program));
    ModelProgram trunk = make_model_program(ProgramRole::Trunk, 0, std::move(built));
    trunk.executable = std::move(executable);
    trunk.private_positions = model.trunk().private_positions;
    for (uint32_t group = 0; group < trunk.program.groups().size(); ++group) {
      DevicePlan& plan = devices_[trunk.executable->group_device(group)].plan;
      plan.scratch_bytes += private_cache_bytes(trunk, group);
    }
    host_scratch_bytes_ += private_row_bytes(trunk);
  }

  [[nodiscard]] uint64_t weights_bytes() const {
    uint64_t bytes = table_bytes_;
    for (const DeviceNeeds& device : devices_) bytes += device.plan.weights_bytes;
    return bytes;
  }
  /// Smallest budget for all sessions.
  [[nodiscard]] uint64_t kv_bytes(uint64_t context, uint64_t sessions) const {
    uint64_t bytes = 0;
    for (const DeviceNeeds& device : devices_) {
      bytes = saturating_add(bytes, device_kv_bytes(device, context, sessions));
    }
    return bytes;
  }
  /// Cache bytes for a token after `context` positions (seen_cache_bytes).
  [[nodiscard]] double token_cache_bytes(uint64_t context) const {
    double bytes = 0;
    for (const DeviceNeeds& device : devices_) {
      bytes += seen_cache_bytes(device.cache.groups, context);
    }
    return bytes;
  }
  [[nodiscard]] uint64_t session_bytes(uint64_t context) const {
    return session_bytes_where(context, [](const DevicePlan&) { return true; });
  }
  [[nodiscard]] uint64_t scratch_bytes(uint64_t sessions) const {
    uint64_t bytes = step_bytes(sessions);
    for (const DeviceNeeds& device : devices_) bytes += device.plan.scratch_bytes;
    return bytes;
  }
  /// Peak of the process: while weights load, or with everything full.
  [[nodiscard]] uint64_t total_bytes(uint64_t context, uint64_t sessions) const {
    const uint64_t loading = loading_bytes_per_thread() * threads_;
    uint64_t weights = table_bytes_;
    uint64_t scratch = step_bytes(sessions);
    for (const DeviceNeeds& device : devices_) {
      if (device.plan.has_own_memory) continue;
      weights += device.plan.weights_bytes;
      scratch += device.plan.scratch_bytes;
    }
    const uint64_t session = session_bytes_where(
        context, [](const DevicePlan& device) { return !device.has_own_memory; });
    const uint64_t full = saturating_add(scratch, saturating_mul(sessions, session));
    return saturating_add(saturating_add(process_bytes_, weights), std::max(loading, full));
  }
  [[nodiscard]] std::vector<DevicePlan> devices(uint64_t context, uint64_t sessions) const {
    std::vector<DevicePlan> plans;
    for (const DeviceNeeds& device : devices_) {
      DevicePlan& plan = plans.emplace_back(device.plan);
      plan.kv_bytes = device_kv_bytes(device, context, sessions);
      plan.total_bytes =
          saturating_add(saturating_add(plan.weights_bytes, plan.scratch_bytes), plan.kv_bytes);
      plan.fits = plan.memory_bytes == 0 || plan.total_bytes <= plan.memory_bytes;
    }
    return plans;
  }
  [[nodiscard]] bool fit_devices(uint64_t context, uint64_t sessions) const {
    return std::ranges::all_of(devices(context, sessions), &DevicePlan::fits);
  }

 private:
  struct DeviceNeeds {
    DevicePlan plan;
    DeviceCache cache;
  };

  /// Adds the other programs, which run on the device of the trunk's logits.
  void add_programs_beside(const Model& model, const ModelOptions& options,
                           const PlacedExecutable& trunk, bool decodes_packed) {
    const auto placed = std::ranges::find(trunk.devices(), trunk.device(), &PlacedDevice::device);
    DevicePlan& plan = devices_[static_cast<size_t>(placed - trunk.devices().begin())].plan;
    for (const ModelProgram& beside :
         programs_beside(model.file(), model.spec(), options, &trunk, decodes_packed)) {
      plan.weights_bytes += beside.executable->memory_bytes(TENON_MEMORY_WEIGHTS);
      plan.scratch_bytes +=
          beside.executable->memory_bytes(TENON_MEMORY_SCRATCH) + private_cache_bytes(beside);
      host_scratch_bytes_ += private_row_bytes(beside);
    }
  }
  [[nodiscard]] uint64_t device_kv_bytes(const DeviceNeeds& device, uint64_t context,
                                         uint64_t sessions) const {
    return least_cache_budget(device.cache.groups, {context, slice_, sessions},
                              device.cache.slab_bytes);
  }
  /// Step memory outside all devices.
  [[nodiscard]] uint64_t step_bytes(uint64_t sessions) const {
    const uint64_t rows = std::min<uint64_t>(sessions, slice_);
    return host_scratch_bytes_ + rows * vocab_ * sizeof(float);
  }
  template <typename Counts>
  [[nodiscard]] uint64_t session_bytes_where(uint64_t context, Counts counts) const {
    const uint64_t logits = vocab_ * sizeof(float);
    const uint64_t text = context * sizeof(int32_t);
    uint64_t bytes = logits + text + least_candidates_bytes(vocab_);
    for (const DeviceNeeds& device : devices_) {
      if (!counts(device.plan)) continue;
      bytes = saturating_add(bytes, cache_bytes(device.cache.groups, {context, slice_, 1}));
    }
    return bytes;
  }

  uint64_t vocab_;
  uint32_t threads_;
  uint64_t process_bytes_;
  uint32_t slice_ = 0;
  uint64_t table_bytes_ = 0;
  uint64_t host_scratch_bytes_ = 0;
  std::vector<DeviceNeeds> devices_;
};

/// Options to compile the model for its plan.
ModelOptions planning_options(const Model& model, CacheType cache_type, const Hardware& hardware) {
  ModelOptions options = runtime_options(model);
  options.cache_type = cache_type;
  options.threads = hardware.threads;
  options.system = reserving_system();
  options.plans_only = true;
  return options;
}

void check_speeds(const Hardware& hardware) {
  const auto check = [](double speed, const char* what) {
    // Written so that NaN fails.
    if (speed >= 0 && std::isfinite(speed)) return;
    fail(Code::Argument, "plan: {} is {}, not 0 or a positive number", what, speed);
  };
  for (const double speed : hardware.decode_bytes_per_second) {
    check(speed, "decode_bytes_per_second");
  }
  check(hardware.prefill_multiplications_per_second, "prefill_multiplications_per_second");
  check(hardware.cache_bytes_per_second, "cache_bytes_per_second");
  check(hardware.attention_multiplications_per_second, "attention_multiplications_per_second");
}

/// Largest n in 1..most with fits(n), which is monotone; 0 if none.
template <typename Fits>
uint64_t largest(uint64_t most, Fits fits) {
  uint64_t low = 0;
  for (uint64_t high = most; low < high;) {
    const uint64_t middle = high - (high - low) / 2;
    fits(middle) ? low = middle : high = middle - 1;
  }
  return low;
}

/// Fitting cache type with the most bits, at most the model's own.
std::string_view fitting_cache_type(const Model& model, const Plan& plan,
                                    const Hardware& hardware) {
  const CacheTypeInfo& own = info_of(model.options().cache_type);
  const CacheTypeInfo* best = nullptr;
  for (size_t i = 0; i < std::size(kCacheTypes); ++i) {
    const CacheTypeInfo& type = kCacheTypes[i];
    if (type.bits > own.bits || (best != nullptr && type.bits <= best->bits)) continue;
    const Needs needs(model, planning_options(model, static_cast<CacheType>(i), hardware),
                      hardware);
    if (needs.total_bytes(plan.context, plan.sessions) <= hardware.memory_bytes &&
        needs.fit_devices(plan.context, plan.sessions)) {
      best = &type;
    }
  }
  return best != nullptr ? best->name : std::string_view();
}

/// Fitting number of GPU layers, with the devices filled for the planned contexts and sessions.
int64_t fitting_gpu_layers(const Model& model, const Plan& plan, const Hardware& hardware) {
  if (plan.devices.size() < 2) return -1;
  ModelOptions options = planning_options(model, model.options().cache_type, hardware);
  const uint64_t positions = saturating_mul(plan.context, plan.sessions);
  options.context = static_cast<uint32_t>(std::min<uint64_t>(positions, kMaxContext));
  options.gpu_layers = -1;
  try {
    const Needs needs(model, options, hardware);
    if (!needs.fit_devices(plan.context, plan.sessions)) return -1;
    int64_t layers = 0;
    for (const DevicePlan& device : needs.devices(plan.context, plan.sessions)) {
      if (device.kind != TENON_DEVICE_CPU) layers += static_cast<int64_t>(device.layers);
    }
    return layers;
  } catch (const Error& error) {
    if (error.code() != Code::NoMemory) throw;
    return -1;
  }
}

/// Bytes per second, interpolated over the logarithm of the batch size between measured sizes;
/// beyond them, time grows linearly with the sequences.
double decode_rate(const Hardware& hardware, uint64_t sessions) {
  const double size = std::log2(static_cast<double>(sessions));
  const auto last = static_cast<double>(kNumDecodeSizes - 1);
  const auto& rates = hardware.decode_bytes_per_second;
  if (size >= last) return rates.back() * std::exp2(last - size);
  const auto index = static_cast<size_t>(size);
  const double part = size - std::floor(size);
  // Interpolates times, which grow about linearly, unlike rates.
  if (rates[index] <= 0 || rates[index + 1] <= 0) return 0;
  return 1 / ((1 - part) / rates[index] + part / rates[index + 1]);
}

double decode_speed(const Model& model, const Needs& needs, const Plan& plan,
                    const Hardware& hardware) {
  const double rate = decode_rate(hardware, plan.sessions);
  if (rate <= 0) return 0;
  const auto sessions = static_cast<double>(plan.sessions);
  const double states = needs.token_cache_bytes(0);
  const double positions = needs.token_cache_bytes(plan.context) - states;
  double seconds = (static_cast<double>(model.step_work().weight_bytes) + sessions * states) / rate;
  if (hardware.cache_bytes_per_second > 0) {
    seconds += sessions * positions / hardware.cache_bytes_per_second;
  }
  return sessions / seconds;
}

double prefill_speed(const Model& model, const Plan& plan, const Hardware& hardware) {
  if (hardware.prefill_multiplications_per_second <= 0) return 0;
  const double matrices = static_cast<double>(model.step_work().token_multiplications) /
                          hardware.prefill_multiplications_per_second;
  const double seen = attention_multiplications(model.program(), {plan.context, true});
  const double attention = hardware.attention_multiplications_per_second > 0
                               ? seen / hardware.attention_multiplications_per_second
                               : 0;
  return 1 / (matrices + attention);
}

/// Memory of the draft model with a cache for all sessions; 0 without one.
uint64_t draft_bytes(const Model& model, const Plan& plan, const Hardware& hardware) {
  if (model.draft() == nullptr) return 0;
  const Model& draft = *model.draft();
  const Needs needs(draft, planning_options(draft, draft.options().cache_type, hardware), hardware);
  return saturating_add(needs.kv_bytes(plan.context, plan.sessions),
                        needs.weights_bytes() + needs.scratch_bytes(plan.sessions));
}

}  // namespace

Plan make_plan(const Model& model, const PlanRequest& request, const Hardware& machine) {
  Plan plan;
  Hardware hardware = machine;
  plan.context = request.context == 0 ? model.default_context() : request.context;
  plan.sessions = std::max<uint64_t>(1, request.sessions);
  plan.threads = hardware.threads;
  if (plan.context > kMaxContext) {
    fail(Code::Argument, "plan: context is {}, not in 0..{}", plan.context, kMaxContext);
  }
  if (plan.sessions > kMaxSessions) {
    fail(Code::Argument, "plan: sessions is {}, not in 0..{}", plan.sessions, kMaxSessions);
  }
  if (hardware.threads == 0 || hardware.threads > ThreadTeam::kMaxThreads) {
    fail(Code::Argument, "plan: threads is {}, not in 1..{}", hardware.threads,
         ThreadTeam::kMaxThreads);
  }
  check_speeds(hardware);
  hardware.process_bytes =
      saturating_add(hardware.process_bytes, draft_bytes(model, plan, machine));
  const Needs needs(model, planning_options(model, model.options().cache_type, hardware), hardware);
  plan.total_bytes = needs.total_bytes(plan.context, plan.sessions);
  if (plan.total_bytes == kTooMuch) {
    fail(Code::Argument, "plan: {} sessions of {} positions beside {} bytes pass 2^64 bytes",
         plan.sessions, plan.context, hardware.process_bytes);
  }
  const auto fits = [&](uint64_t context, uint64_t sessions) {
    const uint64_t total = needs.total_bytes(context, sessions);
    return total != kTooMuch && total <= hardware.memory_bytes &&
           needs.fit_devices(context, sessions);
  };
  plan.process_bytes = hardware.process_bytes;
  plan.weights_bytes = needs.weights_bytes();
  plan.scratch_bytes = needs.scratch_bytes(plan.sessions);
  plan.session_bytes = needs.session_bytes(plan.context);
  plan.kv_bytes = needs.kv_bytes(plan.context, plan.sessions);
  plan.fits = fits(plan.context, plan.sessions);
  plan.devices = needs.devices(plan.context, plan.sessions);
  plan.max_context = largest(kMaxContext, [&](uint64_t n) { return fits(n, plan.sessions); });
  plan.max_sessions = largest(kMaxSessions, [&](uint64_t n) { return fits(plan.context, n); });
  plan.fitting_cache_type = fitting_cache_type(model, plan, hardware);
  plan.fitting_gpu_layers = fitting_gpu_layers(model, plan, hardware);
  plan.decode_tokens_per_second = decode_speed(model, needs, plan, hardware);
  plan.prefill_tokens_per_second = prefill_speed(model, plan, hardware);
  return plan;
}

}  // namespace tenon
