// Predicts a model's memory by kind, whether it fits, what would fit, and its speed, before it is
// loaded. Reads no weights and measures nothing: all facts about the machine come from Hardware.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/hardware.h"

namespace tenon {

/// The planned load; 0 means the model's default context and one session.
struct PlanRequest {
  uint64_t context = 0;  ///< positions per session
  uint64_t sessions = 0;
};

/// Memory of one device.
struct DevicePlan {
  std::string backend;
  std::string device;  ///< device name in the backend
  uint32_t kind = 0;   ///< TENON_DEVICE_*
  uint64_t layers = 0;
  uint64_t weights_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t kv_bytes = 0;  ///< all sessions with full contexts
  uint64_t total_bytes = 0;
  uint64_t memory_bytes = 0;    ///< budget of the model; 0 means no known limit
  bool has_own_memory = false;  ///< false if it uses the process's memory
  bool fits = false;
};

struct Plan {
  uint64_t context = 0;
  uint64_t sessions = 0;
  uint32_t threads = 0;
  // Memory by kind, in bytes.
  uint64_t process_bytes = 0;  ///< what the process holds, and a draft model with its cache
  /// As the backend stores them, with the row cache for tables in the file.
  uint64_t weights_bytes = 0;
  uint64_t scratch_bytes = 0;  ///< activations, thread scratch, logits of a step
  uint64_t kv_bytes = 0;       ///< all sessions with full contexts: the smallest sufficient budget
  uint64_t session_bytes = 0;  ///< one session: its cache, logits, text and default sampler
  uint64_t total_bytes = 0;    ///< peak of the process, without devices that have their own memory
  bool fits = false;           ///< in the process and on each device
  std::vector<DevicePlan> devices;  ///< in step order
  // Changes of which each makes the model fit; 0 or empty if none does.
  uint64_t max_context = 0;             ///< with the same number of sessions
  uint64_t max_sessions = 0;            ///< with the same context
  std::string_view fitting_cache_type;  ///< the type with most bits; the model's own if it fits
  /// Layers on devices other than the CPU, for a model over several devices; -1 if it has one
  /// device or no number fits.
  int64_t fitting_gpu_layers = -1;
  // With full contexts; 0 if the hardware's speeds are unknown.
  double prefill_tokens_per_second = 0;  ///< mean over a prompt that fills the context
  double decode_tokens_per_second = 0;   ///< all sessions together
};

/// Plans from the model's header, its options (cache_type, threads, slice, backend; "inspect" is
/// enough) and the hardware; a pure function. Throws State for a vocabulary-only file, Argument for
/// an impossible context, and compile errors.
Plan make_plan(const Model& model, const PlanRequest& request, const Hardware& hardware);

}  // namespace tenon
