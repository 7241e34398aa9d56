// A load on an engine: requests that arrive as a distribution says, and what became of them.
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
  double rate =
      0;  ///< arrivals per second of all clients; 0: each asks again when it has its answer
  Distribution prompt_tokens{"128"};
  Distribution output_tokens{"64"};
  double shared_prefix = 0;  ///< fraction of each prompt that all have in common
  double seconds = 60;       ///< that are measured
  double warmup_seconds = 0;
  uint64_t seed = 0;
  tenon::ExtraOptions engine;
};

/// How things stand at one moment.
struct MemorySample {
  double seconds = 0;  ///< since the measuring began
  uint64_t resident_bytes = 0;
  uint64_t kv_held_bytes = 0;
  uint64_t kv_used_bytes = 0;
  uint64_t running = 0;
  uint64_t waiting = 0;
};

/// Of the requests that arrived in the measured seconds, but for what says otherwise.
struct LoadResult {
  uint64_t arrived = 0;
  uint64_t finished = 0;  ///< with all their tokens
  uint64_t refused = 0;   ///< with BUSY
  uint64_t lost =
      0;  ///< ended with an error, with fewer tokens, or never; those of the warm-up, too
  std::string first_loss;  ///< what happened to it

  LatencyHistogram first_token;       ///< from the arrival
  LatencyHistogram per_output_token;  ///< from the first to the last token, by the tokens between
  LatencyHistogram between_tokens;    ///< every single distance
  LatencyHistogram whole;             ///< from the arrival to the last token
  uint64_t prompt_tokens = 0;         ///< of finished requests; and of these computed before
  uint64_t reused_tokens = 0;

  double seconds = 0;  ///< measured
  // Within the measured seconds, whenever the request arrived.
  uint64_t requests_ended = 0;
  uint64_t output_tokens = 0;
  uint64_t input_tokens = 0;  ///< prompts of the requests that got their first token
  // Of the engine, from the warm-up's end to the last request's.
  uint64_t preempted = 0;
  uint64_t steps = 0;
  uint64_t steps_stopped = 0;
  double step_seconds = 0;
  double schedule_seconds = 0;

  uint64_t peak_bytes = 0;  ///< of the process, since it began or PeakMemory was restarted
  uint64_t kv_limit_bytes = 0;
  uint64_t kv_peak_bytes = 0;
  uint64_t over_budget = 0;  ///< how often the cache was seen to hold more than its limit
  std::vector<MemorySample> samples;
};

/// Runs the load in an engine of its own, to the end of the last request. progress is called with
/// the fraction done. Throws what the engine throws, but failures of single requests.
LoadResult run_load(const tenon::Model& model, const LoadOptions& options,
                    const std::function<void(double)>& progress);

}  // namespace tenon_program
