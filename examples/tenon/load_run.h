// Load on an engine: requests with random arrivals, and their outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "distribution.h"
#include "latency_histogram.h"

namespace tenon_program {

struct LoadOptions {
  uint64_t clients = 1;
  /// Arrivals per second of all clients; 0 means that each client asks again after its answer.
  double rate = 0;
  Distribution prompt_tokens{"128"};
  Distribution output_tokens{"64"};
  double shared_prefix = 0;  ///< fraction of each prompt that is common to all
  double seconds = 60;       ///< duration of the measurement
  double warmup_seconds = 0;
  uint64_t seed = 0;
  tenon::ExtraOptions engine;
};

/// State at one moment.
struct MemorySample {
  double seconds = 0;  ///< time since the measurement began
  uint64_t resident_bytes = 0;
  uint64_t kv_held_bytes = 0;
  uint64_t kv_used_bytes = 0;
  uint64_t running = 0;
  uint64_t waiting = 0;
};

/// Results for requests that arrived during the measurement, unless a member says otherwise.
struct LoadResult {
  uint64_t arrived = 0;
  uint64_t finished = 0;   ///< completed with all tokens
  uint64_t refused = 0;    ///< refused with BUSY
  uint64_t lost = 0;       ///< failed, short or unfinished; includes the warm-up
  std::string first_loss;  ///< description of the first such request

  LatencyHistogram first_token;       ///< time from the arrival
  LatencyHistogram per_output_token;  ///< mean distance of tokens, from the first to the last
  LatencyHistogram between_tokens;    ///< each distance between two tokens
  LatencyHistogram whole;             ///< time from the arrival to the last token
  /// Prompt tokens of finished requests; then the part computed before.
  uint64_t prompt_tokens = 0;
  uint64_t reused_tokens = 0;

  double seconds = 0;  ///< measured duration
  // Events during the measurement, whenever the request arrived.
  uint64_t requests_ended = 0;
  uint64_t output_tokens = 0;
  uint64_t input_tokens = 0;  ///< prompts of requests that got their first token
  // Counts of the engine, from the end of the warm-up to the end of the last request.
  uint64_t preempted = 0;
  uint64_t steps = 0;
  uint64_t steps_stopped = 0;
  double step_seconds = 0;
  double schedule_seconds = 0;

  uint64_t peak_bytes = 0;  ///< peak of the process since its beginning or PeakMemory's restart
  uint64_t kv_limit_bytes = 0;
  uint64_t kv_peak_bytes = 0;
  uint64_t over_budget = 0;  ///< samples in which the cache exceeded its limit
  std::vector<MemorySample> samples;
};

/// Runs the load in a separate engine, to the end of the last request. progress is called with the
/// fraction done. Throws the engine's errors, except failures of single requests.
LoadResult run_load(const tenon::Model& model, const LoadOptions& options,
                    const std::function<void(double)>& progress);

}  // namespace tenon_program
