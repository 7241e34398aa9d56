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
#include "engine/device_slabs.h"
#include "kv/cache_forecast.h"
#include "model/model_executable.h"
#include "model/program_facts.h"
#include "program/cache_types.h"
#include "sampler/candidates_memory.h"

namespace tenon {
namespace {

constexpr uint64_t kMaxContext = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMaxSessions = uint64_t{1} << 20;

/// More than 64 bits count: no memory is that large, so it fits nowhere.
constexpr uint64_t kTooMuch = UINT64_MAX;

/// What a model takes with one type of cache. The backend's sizes are its own: it compiles the
/// program into memory that is address space only.
class Needs {
 public:
  Needs(const Model& model, std::string_view cache_type, const Hardware& hardware)
      : vocab_(model.hyper_parameters().vocab),
        threads_(hardware.threads),
        process_bytes_(hardware.process_bytes) {
    ModelOptions options = runtime_options(model);
    options.cache_type = cache_type;
    options.threads = hardware.threads;
    options.system = reserving_system();
    const auto build = [&](const StepSizes& sizes) {
      return build_program(model.file(), program_options(options, sizes));
    };
    BuiltProgram built = build({});
    const std::unique_ptr<PlacedExecutable> executable = make_executable(built, options, build);
    slice_ = built.program.view().max_tokens;
    weights_bytes_ = executable->memory_bytes(TENON_MEMORY_WEIGHTS) +
                     row_cache_bytes(built.tables, options.row_cache_bytes);
    step_scratch_bytes_ =
        executable->memory_bytes(TENON_MEMORY_SCRATCH) + fetched_row_bytes(built.tables, slice_);
    groups_ = cache_groups(built.program, *executable);
    caches_ = device_caches(groups_, *executable);
  }

  [[nodiscard]] uint64_t weights_bytes() const { return weights_bytes_; }
  /// The least budget for all sessions.
  [[nodiscard]] uint64_t kv_bytes(uint64_t context, uint64_t sessions) const {
    uint64_t bytes = 0;
    for (const DeviceCache& device : caches_) {
      const TextSizes sizes{context, slice_, sessions};
      bytes = saturating_add(bytes, least_cache_budget(device.groups, sizes, device.slab_bytes));
    }
    return bytes;
  }
  /// Cache bytes that attention reads for a token after `context` others; states are read and
  /// written.
  [[nodiscard]] double cache_read_bytes(uint64_t context) const {
    double bytes = seen_cache_bytes(groups_, context);
    for (const BlockPoolOptions& group : groups_) {
      if (group.kind == TENON_CACHE_STATE) bytes += 2 * static_cast<double>(group.block_bytes);
    }
    return bytes;
  }
  [[nodiscard]] uint64_t session_bytes(uint64_t context) const {
    const uint64_t logits = vocab_ * sizeof(float);
    const uint64_t text = context * sizeof(int32_t);
    return saturating_add(cache_bytes(groups_, {context, slice_, 1}),
                          logits + text + least_candidates_bytes(vocab_));
  }
  [[nodiscard]] uint64_t scratch_bytes(uint64_t sessions) const {
    const uint64_t rows = std::min<uint64_t>(sessions, slice_);
    return step_scratch_bytes_ + rows * vocab_ * sizeof(float);
  }
  /// At its peak: while weights are loaded, or when everything is full.
  [[nodiscard]] uint64_t total_bytes(uint64_t context, uint64_t sessions) const {
    const uint64_t loading = loading_bytes_per_thread() * threads_;
    const uint64_t full =
        saturating_add(scratch_bytes(sessions), saturating_mul(sessions, session_bytes(context)));
    return saturating_add(saturating_add(process_bytes_, weights_bytes_), std::max(loading, full));
  }

 private:
  uint64_t vocab_;
  uint32_t threads_;
  uint64_t process_bytes_;
  uint32_t slice_ = 0;
  uint64_t weights_bytes_ = 0;
  uint64_t step_scratch_bytes_ = 0;
  std::vector<BlockPoolOptions> groups_;
  std::vector<DeviceCache> caches_;  // the same groups by device
};

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

/// The largest n in 1..most for which fits(n), which is true up to some n; 0 when there is none.
template <typename Fits>
uint64_t largest(uint64_t most, Fits fits) {
  uint64_t low = 0;
  for (uint64_t high = most; low < high;) {
    const uint64_t middle = high - (high - low) / 2;
    fits(middle) ? low = middle : high = middle - 1;
  }
  return low;
}

/// Of the types that fit, the one of most bits, but no more than the model was opened with.
std::string_view fitting_cache_type(const Model& model, const Plan& plan,
                                    const Hardware& hardware) {
  const CacheTypeInfo& own = *find_cache_type(model.options().cache_type);
  const CacheTypeInfo* best = nullptr;
  for (const CacheTypeInfo& type : kCacheTypes) {
    if (type.bits > own.bits || (best != nullptr && type.bits <= best->bits)) continue;
    const Needs needs(model, type.name, hardware);
    if (needs.total_bytes(plan.context, plan.sessions) <= hardware.memory_bytes) best = &type;
  }
  return best != nullptr ? best->name : std::string_view();
}

/// Between the sizes that were measured, on a line over the logarithm of the size; beyond them the
/// time grows with the sequences. Bytes per second.
double decode_rate(const Hardware& hardware, uint64_t sessions) {
  const double size = std::log2(static_cast<double>(sessions));
  const auto last = static_cast<double>(kNumDecodeSizes - 1);
  const auto& rates = hardware.decode_bytes_per_second;
  if (size >= last) return rates.back() * std::exp2(last - size);
  const auto index = static_cast<size_t>(size);
  const double part = size - std::floor(size);
  // Times, not rates, are what grows about evenly.
  if (rates[index] <= 0 || rates[index + 1] <= 0) return 0;
  return 1 / ((1 - part) / rates[index] + part / rates[index + 1]);
}

double decode_speed(const Model& model, const Needs& needs, const Plan& plan,
                    const Hardware& hardware) {
  const double matrices = decode_rate(hardware, plan.sessions);
  if (matrices <= 0) return 0;
  const double cache = static_cast<double>(plan.sessions) * needs.cache_read_bytes(plan.context);
  const double reading =
      hardware.cache_bytes_per_second > 0 ? cache / hardware.cache_bytes_per_second : 0;
  const double seconds = static_cast<double>(model.step_work().weight_bytes) / matrices + reading;
  return static_cast<double>(plan.sessions) / seconds;
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

}  // namespace

Plan make_plan(const Model& model, const PlanRequest& request, const Hardware& hardware) {
  Plan plan;
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
  const Needs needs(model, model.options().cache_type, hardware);
  plan.total_bytes = needs.total_bytes(plan.context, plan.sessions);
  if (plan.total_bytes == kTooMuch) {
    fail(Code::Argument, "plan: {} sessions of {} positions beside {} bytes pass 2^64 bytes",
         plan.sessions, plan.context, hardware.process_bytes);
  }
  const auto fits = [&](uint64_t context, uint64_t sessions) {
    const uint64_t total = needs.total_bytes(context, sessions);
    return total != kTooMuch && total <= hardware.memory_bytes;
  };
  plan.process_bytes = hardware.process_bytes;
  plan.weights_bytes = needs.weights_bytes();
  plan.scratch_bytes = needs.scratch_bytes(plan.sessions);
  plan.session_bytes = needs.session_bytes(plan.context);
  plan.kv_bytes = needs.kv_bytes(plan.context, plan.sessions);
  plan.fits = fits(plan.context, plan.sessions);
  plan.max_context = largest(kMaxContext, [&](uint64_t n) { return fits(n, plan.sessions); });
  plan.max_sessions = largest(kMaxSessions, [&](uint64_t n) { return fits(plan.context, n); });
  plan.fitting_cache_type = fitting_cache_type(model, plan, hardware);
  plan.decode_tokens_per_second = decode_speed(model, needs, plan, hardware);
  plan.prefill_tokens_per_second = prefill_speed(model, plan, hardware);
  return plan;
}

}  // namespace tenon
