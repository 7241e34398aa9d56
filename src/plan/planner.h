// What a model will take on a machine before it is loaded: memory by kind, whether it fits and what
// would, and how fast it will be. Reads no weights and measures nothing: all it knows of the
// machine is in Hardware.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/hardware.h"

namespace tenon {

/// What the model shall serve; 0 stands for the model's default context and one session.
struct PlanRequest {
  uint64_t context = 0;  ///< positions of each session
  uint64_t sessions = 0;
};

/// What one device holds.
struct DevicePlan {
  std::string backend;
  std::string device;  ///< its name in the backend
  uint32_t kind = 0;   ///< TENON_DEVICE_*
  uint64_t layers = 0;
  uint64_t weights_bytes = 0;
  uint64_t scratch_bytes = 0;
  uint64_t kv_bytes = 0;  ///< of all sessions with full contexts
  uint64_t total_bytes = 0;
  uint64_t memory_bytes = 0;    ///< that the model may take; 0: no limit is known
  bool has_own_memory = false;  ///< else it is the process's
  bool fits = false;
};

struct Plan {
  uint64_t context = 0;
  uint64_t sessions = 0;
  uint32_t threads = 0;
  // Memory by kind, in bytes.
  uint64_t process_bytes = 0;
  uint64_t weights_bytes = 0;  ///< as the backend stores them; the row cache for tables in the file
  uint64_t scratch_bytes = 0;  ///< activations, work memory of threads, logits of a step
  uint64_t kv_bytes = 0;  ///< of all sessions with full contexts: the least budget that suffices
  uint64_t session_bytes = 0;  ///< of one session: its cache, logits, text and default sampler
  uint64_t total_bytes = 0;    ///< the peak of the process, without devices that have own memory
  bool fits = false;           ///< the process, and what is on each device
  std::vector<DevicePlan> devices;  ///< in the order in which steps come to them
  // Each of these alone makes it fit; 0 or empty where nothing does.
  uint64_t max_context = 0;             ///< with as many sessions
  uint64_t max_sessions = 0;            ///< with the same context
  std::string_view fitting_cache_type;  ///< the one of most bits; the model's own when it fits
  /// Layers on devices other than the CPU, of a model over several; -1: of another one, or none.
  int64_t fitting_gpu_layers = -1;
  // With full contexts; 0 when the hardware's speeds are not known.
  double prefill_tokens_per_second = 0;  ///< of a prompt that fills the context, mean
  double decode_tokens_per_second = 0;   ///< of all sessions together
};

/// A pure function: of the model's header, of how it was opened (cache_type, threads, slice,
/// backend; "inspect" is enough) and of the hardware. Throws State for a file that holds a
/// vocabulary only, Argument for a context that no session can have, and what compiling throws.
Plan make_plan(const Model& model, const PlanRequest& request, const Hardware& hardware);

}  // namespace tenon
