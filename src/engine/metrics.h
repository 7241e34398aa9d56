// Counters and timings of an engine, and their Prometheus text.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "engine/drafter.h"

namespace tenon {

/// Counts of durations per bucket, bounded by kBounds in seconds.
struct Histogram {
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                         0.5,   1.0,    2.5,   5.0,  10.0,  25.0, 50.0, 100.0};
  /// Per bucket, not cumulative; the last is above all bounds.
  std::array<uint64_t, kBounds.size() + 1> counts{};
  double sum = 0;  ///< seconds
  uint64_t count = 0;
  void add(uint64_t ns) noexcept;
};

/// Names with _total count since the engine was created; the others are current values.
struct EngineMetrics {
  uint64_t waiting = 0;         ///< requests in the queue
  uint64_t waiting_tokens = 0;  ///< tokens of their prompts
  uint64_t running = 0;         ///< requests that have begun
  uint64_t queue_room = 0;      ///< free places in the bounded queue

  uint64_t submitted_total = 0;  ///< generations
  uint64_t finished_total = 0;
  uint64_t cancelled_total = 0;
  uint64_t expired_total = 0;  ///< ended by their deadline
  uint64_t failed_total = 0;
  uint64_t busy_total = 0;  ///< refused by a full queue
  uint64_t preempted_total = 0;

  uint64_t kv_limit_bytes = 0;
  uint64_t kv_held_bytes = 0;            ///< slabs on the device
  uint64_t kv_used_bytes = 0;            ///< blocks of sequences and of the prefix index
  uint64_t kv_shared_bytes = 0;          ///< part of kv_used_bytes held by the prefix index only
  uint64_t prefix_evicted_total = 0;     ///< blocks
  uint64_t idle_blocks_taken_total = 0;  ///< taken from idle sessions

  uint64_t steps_total = 0;
  uint64_t steps_stopped_total = 0;  ///< stopped by a cancel; other requests run again
  uint64_t steps_ahead_total = 0;    ///< begun while another step was under way
  uint64_t logits_rows_total = 0;    ///< whole rows that devices returned to the host
  uint64_t prompt_tokens_total = 0;  ///< tokens computed in prompt slices
  uint64_t decode_tokens_total = 0;  ///< tokens computed as decodes
  uint64_t reused_tokens_total = 0;  ///< tokens taken from the prefix index
  uint64_t generated_tokens_total = 0;
  uint64_t store_hits_total = 0;        ///< blocks that came from the store
  uint64_t store_read_bytes_total = 0;  ///< records of blocks
  uint64_t store_written_bytes_total = 0;
  uint64_t store_dropped_total = 0;        ///< blocks that the store did not take
  uint64_t drafts_total = 0;               ///< slices with guesses
  uint64_t drafted_tokens_total = 0;       ///< guesses computed
  uint64_t accepted_tokens_total = 0;      ///< guesses that became tokens of requests
  uint64_t draft_model_guesses_total = 0;  ///< guesses that the draft model made
  uint64_t draft_model_right_total = 0;    ///< those that came true
  uint64_t draft_model_tokens_total = 0;   ///< tokens that the draft model computed
  uint64_t draft_kv_limit_bytes = 0;
  uint64_t draft_kv_held_bytes = 0;
  double draft_model_seconds_total = 0;
  uint64_t answer_bytes = 0;                          ///< memory of ended answers
  std::array<uint64_t, kDraftSources> accepted_by{};  ///< accepted_tokens_total by DraftSource
  double step_seconds_total = 0;                      ///< time in the backend
  double schedule_seconds_total = 0;  ///< time to choose, reserve, fill and settle steps

  Histogram first_token;    ///< since submit
  Histogram token_gap;      ///< between tokens of a request
  Histogram whole_request;  ///< submit to end
};

/// Formats the metrics as Prometheus text, version 0.0.4; names begin with "tenon_".
std::string prometheus_text(const EngineMetrics& metrics);

}  // namespace tenon
