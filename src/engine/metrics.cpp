#include "engine/metrics.h"

#include <fmt/format.h>

#include <string_view>

namespace tenon {
namespace {

struct Line {
  const char* name;
  const char* type;
  const char* help;
  uint64_t EngineMetrics::*value;
};

constexpr Line kLines[] = {
    {"requests_waiting", "gauge", "Requests in the queue", &EngineMetrics::waiting},
    {"waiting_tokens", "gauge", "Prompt tokens in the queue", &EngineMetrics::waiting_tokens},
    {"requests_running", "gauge", "Requests that have begun", &EngineMetrics::running},
    {"requests_submitted_total", "counter", "Generations", &EngineMetrics::submitted_total},
    {"requests_finished_total", "counter", "Generations that came to their end",
     &EngineMetrics::finished_total},
    {"requests_cancelled_total", "counter", "Generations cancelled",
     &EngineMetrics::cancelled_total},
    {"requests_expired_total", "counter", "Generations ended by their deadline",
     &EngineMetrics::expired_total},
    {"requests_failed_total", "counter", "Generations that failed", &EngineMetrics::failed_total},
    {"requests_busy_total", "counter", "Generations refused by a full queue",
     &EngineMetrics::busy_total},
    {"preemptions_total", "counter", "Requests that gave their blocks up",
     &EngineMetrics::preempted_total},
    {"kv_limit_bytes", "gauge", "Budget of the KV cache", &EngineMetrics::kv_limit_bytes},
    {"kv_held_bytes", "gauge", "KV memory held", &EngineMetrics::kv_held_bytes},
    {"kv_used_bytes", "gauge", "KV memory in blocks in use", &EngineMetrics::kv_used_bytes},
    {"kv_shared_bytes", "gauge", "KV memory that only the prefix index holds",
     &EngineMetrics::kv_shared_bytes},
    {"prefix_evicted_blocks_total", "counter", "Blocks evicted from the prefix index",
     &EngineMetrics::prefix_evicted_total},
    {"idle_blocks_taken_total", "counter", "Blocks taken from sessions between two calls",
     &EngineMetrics::idle_blocks_taken_total},
    {"steps_total", "counter", "Steps", &EngineMetrics::steps_total},
    {"steps_stopped_total", "counter", "Steps stopped by a cancel",
     &EngineMetrics::steps_stopped_total},
    {"prompt_tokens_total", "counter", "Tokens computed in prompts",
     &EngineMetrics::prompt_tokens_total},
    {"decode_tokens_total", "counter", "Tokens computed one at a time",
     &EngineMetrics::decode_tokens_total},
    {"reused_tokens_total", "counter", "Tokens taken from the prefix index",
     &EngineMetrics::reused_tokens_total},
    {"generated_tokens_total", "counter", "Tokens drawn", &EngineMetrics::generated_tokens_total},
    {"spec_decode_num_drafts_total", "counter", "Tokens computed with guesses beside them",
     &EngineMetrics::drafts_total},
    {"spec_decode_num_draft_tokens_total", "counter", "Guessed tokens computed",
     &EngineMetrics::drafted_tokens_total},
    {"spec_decode_num_accepted_tokens_total", "counter",
     "Guessed tokens that became tokens of requests", &EngineMetrics::accepted_tokens_total},
    {"store_hit_blocks_total", "counter", "Blocks of prefixes that came from the store",
     &EngineMetrics::store_hits_total},
    {"store_read_bytes_total", "counter", "Bytes read from the store",
     &EngineMetrics::store_read_bytes_total},
    {"store_written_bytes_total", "counter", "Bytes written to the store",
     &EngineMetrics::store_written_bytes_total},
    {"store_dropped_blocks_total", "counter", "Blocks that the store did not take",
     &EngineMetrics::store_dropped_total},
    {"draft_model_guesses_total", "counter", "Tokens that the draft model guessed",
     &EngineMetrics::draft_model_guesses_total},
    {"draft_model_right_total", "counter", "Guesses of the draft model that came true",
     &EngineMetrics::draft_model_right_total},
    {"draft_model_tokens_total", "counter", "Tokens that the draft model computed",
     &EngineMetrics::draft_model_tokens_total},
    {"answer_bytes", "gauge", "Memory of ended answers", &EngineMetrics::answer_bytes},
    {"draft_kv_limit_bytes", "gauge", "Budget of the draft model's cache",
     &EngineMetrics::draft_kv_limit_bytes},
    {"draft_kv_held_bytes", "gauge", "Memory of the draft model's cache",
     &EngineMetrics::draft_kv_held_bytes},
};

struct TimeLine {
  const char* name;
  const char* help;
  double EngineMetrics::*value;
};

constexpr TimeLine kTimes[] = {
    {"step_seconds_total", "Time in the backend", &EngineMetrics::step_seconds_total},
    {"draft_model_seconds_total", "Time of the draft model",
     &EngineMetrics::draft_model_seconds_total},
    {"schedule_seconds_total", "Time around steps", &EngineMetrics::schedule_seconds_total},
};

struct HistogramLine {
  const char* name;
  const char* help;
  Histogram EngineMetrics::*value;
};

constexpr HistogramLine kHistograms[] = {
    {"time_to_first_token_seconds", "From submit to the first token", &EngineMetrics::first_token},
    {"time_per_output_token_seconds", "Between tokens", &EngineMetrics::token_gap},
    {"request_seconds", "From submit to the end", &EngineMetrics::whole_request},
};

void put_head(std::string& out, std::string_view name, std::string_view type,
              std::string_view help) {
  out += fmt::format("# HELP tenon_{0} {1}.\n# TYPE tenon_{0} {2}\n", name, help, type);
}

void put_histogram(std::string& out, const HistogramLine& line, const Histogram& histogram) {
  put_head(out, line.name, "histogram", line.help);
  uint64_t below = 0;
  for (size_t i = 0; i < Histogram::kBounds.size(); ++i) {
    below += histogram.counts[i];
    out +=
        fmt::format("tenon_{}_bucket{{le=\"{}\"}} {}\n", line.name, Histogram::kBounds[i], below);
  }
  out +=
      fmt::format("tenon_{0}_bucket{{le=\"+Inf\"}} {1}\ntenon_{0}_sum {2}\ntenon_{0}_count {1}\n",
                  line.name, histogram.count, histogram.sum);
}

}  // namespace

void Histogram::add(uint64_t ns) noexcept {
  const double seconds = static_cast<double>(ns) * 1e-9;
  size_t i = 0;
  while (i < kBounds.size() && seconds > kBounds[i]) ++i;
  ++counts[i];
  sum += seconds;
  ++count;
}

std::string prometheus_text(const EngineMetrics& metrics) {
  std::string out;
  for (const Line& line : kLines) {
    put_head(out, line.name, line.type, line.help);
    out += fmt::format("tenon_{} {}\n", line.name, metrics.*line.value);
  }
  for (const TimeLine& line : kTimes) {
    put_head(out, line.name, "counter", line.help);
    out += fmt::format("tenon_{} {}\n", line.name, metrics.*line.value);
  }
  for (const HistogramLine& line : kHistograms) put_histogram(out, line, metrics.*line.value);
  return out;
}

}  // namespace tenon
