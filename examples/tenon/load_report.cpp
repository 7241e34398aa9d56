#include "load_report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "format_text.h"
#include "terminal.h"

namespace tenon_program {
namespace {

using nlohmann::ordered_json;

/// Times of requests, in the order of the report.
struct Latency {
  const char* key;
  const char* title;
  LatencyHistogram LoadResult::*times;
};
constexpr std::array kLatencies = {
    Latency{"time_to_first_token_ms", "to the first token", &LoadResult::first_token},
    Latency{"time_per_output_token_ms", "per output token", &LoadResult::per_output_token},
    Latency{"between_tokens_ms", "between tokens", &LoadResult::between_tokens},
    Latency{"whole_request_ms", "whole request", &LoadResult::whole},
};

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

double hit_rate(const LoadResult& result) {
  return ratio(static_cast<double>(result.reused_tokens),
               static_cast<double>(result.prompt_tokens));
}

/// Means over a tenth of the samples.
struct MemoryMean {
  double resident_bytes = 0;
  double kv_held_bytes = 0;
};

MemoryMean mean_of(std::span<const MemorySample> samples) {
  MemoryMean mean;
  for (const MemorySample& sample : samples) {
    mean.resident_bytes += static_cast<double>(sample.resident_bytes);
    mean.kv_held_bytes += static_cast<double>(sample.kv_held_bytes);
  }
  const double count = std::max<double>(1, static_cast<double>(samples.size()));
  return {mean.resident_bytes / count, mean.kv_held_bytes / count};
}

/// The first and the last tenth of the measured time.
std::pair<MemoryMean, MemoryMean> tenths(const LoadResult& result) {
  const std::span<const MemorySample> samples(result.samples);
  const size_t tenth = (samples.size() + 9) / 10;
  return {mean_of(samples.first(tenth)), mean_of(samples.last(tenth))};
}

double growth(const LoadResult& result) {
  const auto [first, last] = tenths(result);
  return ratio(last.resident_bytes - first.resident_bytes, first.resident_bytes);
}

ordered_json latency_json(const LatencyHistogram& times) {
  return {{"count", times.count()},
          {"p50", 1e3 * times.percentile(0.5)},
          {"p95", 1e3 * times.percentile(0.95)},
          {"p99", 1e3 * times.percentile(0.99)},
          {"mean", 1e3 * times.mean()},
          {"most", 1e3 * times.most()}};
}

ordered_json memory_json(const LoadResult& result) {
  const auto [first, last] = tenths(result);
  const auto tenth_json = [](const MemoryMean& mean) {
    return ordered_json{{"resident_bytes", mean.resident_bytes},
                        {"kv_held_bytes", mean.kv_held_bytes}};
  };
  ordered_json json = {
      {"peak_resident_bytes", result.peak_bytes}, {"kv_limit_bytes", result.kv_limit_bytes},
      {"kv_peak_bytes", result.kv_peak_bytes},    {"budget_exceeded", result.over_budget},
      {"first_tenth", tenth_json(first)},         {"last_tenth", tenth_json(last)},
      {"resident_growth", growth(result)},        {"samples", ordered_json::array()}};
  for (const MemorySample& sample : result.samples) {
    json["samples"].push_back({{"seconds", sample.seconds},
                               {"resident_bytes", sample.resident_bytes},
                               {"kv_held_bytes", sample.kv_held_bytes},
                               {"kv_used_bytes", sample.kv_used_bytes},
                               {"running", sample.running},
                               {"waiting", sample.waiting}});
  }
  return json;
}

unsigned long long whole(uint64_t count) { return count; }

std::string load_line(const LoadOptions& load) {
  const std::string arrivals =
      load.rate > 0 ? format_text("%g arrivals/s", load.rate) : "each asks again when answered";
  return format_text("load     %llu clients, %s, prompts %s (%g %% shared), outputs %s\n",
                     whole(load.clients), arrivals.c_str(), load.prompt_tokens.text().c_str(),
                     100 * load.shared_prefix, load.output_tokens.text().c_str()) +
         format_text("         %g s measured behind %g s of warm-up, seed %llu\n", load.seconds,
                     load.warmup_seconds, whole(load.seed));
}

std::string memory_lines(const LoadResult& result) {
  const auto [first, last] = tenths(result);
  const auto text = [](double bytes) { return size_text(static_cast<uint64_t>(bytes)); };
  return format_text("memory      peak %s; cache %s of %s at most, over its budget %llu times\n",
                     size_text(result.peak_bytes).c_str(), size_text(result.kv_peak_bytes).c_str(),
                     size_text(result.kv_limit_bytes).c_str(), whole(result.over_budget)) +
         format_text(
             "            resident: first tenth %s, last tenth %s (%+.2f %%); cache: %s, %s\n",
             text(first.resident_bytes).c_str(), text(last.resident_bytes).c_str(),
             100 * growth(result), text(first.kv_held_bytes).c_str(),
             text(last.kv_held_bytes).c_str());
}

}  // namespace

std::string load_table(const BenchReport& report, const LoadOptions& load,
                       const LoadResult& result) {
  const double seconds = result.seconds;
  std::string text = model_lines(report) + load_line(load);
  text += format_text("\nrequests    %llu arrived, %llu finished, %llu refused, %llu lost\n",
                      whole(result.arrived), whole(result.finished), whole(result.refused),
                      whole(result.lost));
  text += format_text("            %-20s %10s %10s %10s %10s\n", "ms", "p50", "p95", "p99", "most");
  for (const Latency& latency : kLatencies) {
    const LatencyHistogram& times = result.*latency.times;
    text += format_text("            %-20s %10.2f %10.2f %10.2f %10.2f\n", latency.title,
                        1e3 * times.percentile(0.5), 1e3 * times.percentile(0.95),
                        1e3 * times.percentile(0.99), 1e3 * times.most());
  }
  text += format_text("throughput  %.2f requests/s, %.1f prompt tokens/s, %.1f output tokens/s\n",
                      static_cast<double>(result.requests_ended) / seconds,
                      static_cast<double>(result.input_tokens) / seconds,
                      static_cast<double>(result.output_tokens) / seconds);
  text +=
      format_text("prefix      %.1f %% of the prompts' tokens reused\n", 100 * hit_rate(result));
  text +=
      format_text("engine      %llu preemptions, %llu steps, scheduling %.2f %% of their time\n",
                  whole(result.preempted), whole(result.steps),
                  100 * ratio(result.schedule_seconds, result.step_seconds));
  return text + memory_lines(result);
}

std::string load_json(const BenchReport& report, const LoadOptions& load,
                      const LoadResult& result) {
  const double seconds = result.seconds;
  ordered_json json = model_json(report);
  json["load"] = {{"clients", load.clients},
                  {"rate", load.rate},
                  {"prompt_tokens", load.prompt_tokens.text()},
                  {"output_tokens", load.output_tokens.text()},
                  {"shared_prefix", load.shared_prefix},
                  {"seconds", load.seconds},
                  {"warmup_seconds", load.warmup_seconds},
                  {"seed", load.seed}};
  json["requests"] = {{"arrived", result.arrived},
                      {"finished", result.finished},
                      {"refused", result.refused},
                      {"lost", result.lost}};
  if (result.lost != 0) json["requests"]["first_loss"] = result.first_loss;
  for (const Latency& latency : kLatencies) {
    json[latency.key] = latency_json(result.*latency.times);
  }
  json["throughput"] = {
      {"requests_per_second", static_cast<double>(result.requests_ended) / seconds},
      {"prompt_tokens_per_second", static_cast<double>(result.input_tokens) / seconds},
      {"output_tokens_per_second", static_cast<double>(result.output_tokens) / seconds}};
  json["prefix"] = {{"prompt_tokens", result.prompt_tokens},
                    {"reused_tokens", result.reused_tokens},
                    {"hit_rate", hit_rate(result)}};
  json["engine_work"] = {{"preempted", result.preempted},
                         {"steps", result.steps},
                         {"steps_stopped", result.steps_stopped},
                         {"step_seconds", result.step_seconds},
                         {"schedule_seconds", result.schedule_seconds}};
  json["memory"] = memory_json(result);
  return json_text(json);
}

std::string load_fault(const LoadResult& result) {
  if (result.lost != 0) {
    return std::to_string(result.lost) + " requests were lost; the first: " + result.first_loss;
  }
  if (result.over_budget != 0) {
    return "the cache held more than its budget of " + std::to_string(result.kv_limit_bytes) +
           " bytes, " + std::to_string(result.over_budget) + " times";
  }
  return "";
}

}  // namespace tenon_program
