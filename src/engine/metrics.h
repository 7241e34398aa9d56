// What an engine counts and measures, as plain numbers, and the same as text for Prometheus. The
// counting itself is done where the things happen.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tenon {

/// How many durations fell below each bound. Bounds are those of kBounds, in seconds.
struct Histogram {
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                         0.5,   1.0,    2.5,   5.0,  10.0,  25.0, 50.0, 100.0};
  std::array<uint64_t, kBounds.size() + 1> counts{};  ///< each without those below; the last: above
  double sum = 0;                                     ///< seconds
  uint64_t count = 0;
  void add(uint64_t ns) noexcept;
};

/// Totals are since the engine was made; the others are as they are now.
struct EngineMetrics {
  uint64_t waiting = 0;         ///< requests in the queue
  uint64_t waiting_tokens = 0;  ///< of their prompts
  uint64_t running = 0;         ///< requests that have begun
  uint64_t queue_room = 0;      ///< requests that the bounded queue still takes

  uint64_t submitted_total = 0;  ///< generations
  uint64_t finished_total = 0;
  uint64_t cancelled_total = 0;
  uint64_t expired_total = 0;  ///< ended by their deadline
  uint64_t failed_total = 0;
  uint64_t busy_total = 0;  ///< refused by a full queue
  uint64_t preempted_total = 0;

  uint64_t kv_limit_bytes = 0;
  uint64_t kv_held_bytes = 0;            ///< slabs
  uint64_t kv_used_bytes = 0;            ///< blocks of sequences and of the prefix index
  uint64_t kv_shared_bytes = 0;          ///< of these, what only the prefix index holds
  uint64_t prefix_evicted_total = 0;     ///< blocks
  uint64_t idle_blocks_taken_total = 0;  ///< from sessions between two calls

  uint64_t steps_total = 0;
  uint64_t steps_stopped_total = 0;  ///< by a cancel, and tried again for the others
  uint64_t steps_ahead_total = 0;    ///< begun while another one was under way
  uint64_t logits_rows_total = 0;    ///< that a device handed to the host, whole
  uint64_t prompt_tokens_total = 0;  ///< computed in slices of prompts
  uint64_t decode_tokens_total = 0;  ///< computed one at a time
  uint64_t reused_tokens_total = 0;  ///< taken from the prefix index instead
  uint64_t generated_tokens_total = 0;
  double step_seconds_total = 0;      ///< in the backend
  double schedule_seconds_total = 0;  ///< choosing, reserving, filling and settling steps

  Histogram first_token;    ///< from submit
  Histogram token_gap;      ///< between tokens of a request
  Histogram whole_request;  ///< from submit to the end
};

/// The metrics in the text format of Prometheus, version 0.0.4; names begin with "tenon_".
std::string prometheus_text(const EngineMetrics& metrics);

}  // namespace tenon
