#include "bench_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench_machine.h"
#include "format_text.h"
#include "terminal.h"

namespace tenon_program {
namespace {

using nlohmann::ordered_json;

std::string formats_of(const tenon::Model& model) {
  std::map<std::string, uint64_t> bytes;
  uint64_t total = 0;
  for (size_t i = 0; i < model.num_tensors(); ++i) {
    const tenon_tensor tensor = model.tensor(i);
    if (tensor.num_dimensions < 2) continue;  // norms and biases
    bytes[tensor.format] += tensor.size_bytes;
    total += tensor.size_bytes;
  }
  std::vector<std::pair<std::string, uint64_t>> sorted(bytes.begin(), bytes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [format, size] : sorted) {
    const double share = 100.0 * static_cast<double>(size) / static_cast<double>(total);
    text += (text.empty() ? "" : ", ") + format_text("%s %.0f %%", format.c_str(), share);
  }
  return text;
}

/// Parameters that a token is multiplied with; the embedding is only looked up.
uint64_t active_parameters(const BenchRun& run) {
  return run.execution.token_multiplications + run.execution.output_multiplications;
}

/// Bytes read per token of a single sequence: matrices in the file's formats, and the cache.
double bytes_per_token(const BenchRun& run, const BenchResult& result) {
  return static_cast<double>(run.execution.step_bytes + result.cache_bytes);
}

/// Bytes read by the median token, relative to the memory's bandwidth in that time; 0 if not bound
/// by memory.
double stream_fraction(const BenchRun& run, const BenchResult& result) {
  if (!result.cell.decode || result.cell.sequences != 1 || result.stream_rate == 0) return 0;
  const double token_seconds = percentile(result.per_token, 0.5);
  return bytes_per_token(run, result) / token_seconds / result.stream_rate;
}

/// True if a token may read from the last-level cache instead of memory.
bool fits_last_cache(const BenchRun& run, const BenchResult& result) {
  return bytes_per_token(run, result) <= static_cast<double>(last_cache_bytes());
}

/// Multiply-accumulates of the matrices per cycle and thread; 0 if the clock is unknown.
double macs_per_cycle(const BenchRun& run, const BenchResult& result) {
  if (result.cell.decode || run.frequency == 0) return 0;
  const double per_token = static_cast<double>(run.execution.token_multiplications) +
                           static_cast<double>(run.execution.output_multiplications) /
                               static_cast<double>(result.cell.tokens);
  return percentile(result.rates, 0.5) * per_token / (run.frequency * run.execution.threads);
}

ordered_json milliseconds(const std::vector<double>& seconds) {
  ordered_json json;
  for (const auto& [name, p] : {std::pair{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}}) {
    json[name] = 1e3 * percentile(seconds, p);
  }
  return json;
}

ordered_json cell_json(const BenchRun& run, const BenchResult& result) {
  const BenchCell& cell = result.cell;
  ordered_json json = {
      {"phase", cell.decode ? "decode" : "prefill"},
      {"tokens", cell.tokens},
      {"sequences", cell.sequences},
      {"depth", cell.depth},
      {"cache_type", run.cache_type},
      {"threads", run.execution.threads},
      {"median_tokens_per_second", percentile(result.rates, 0.5)},
      {"tokens_per_second", result.rates},
  };
  if (cell.decode) {
    json["cache_bytes_per_token"] = result.cache_bytes;
    json["time_per_output_token_ms"] = milliseconds(result.per_token);
    json["stream_read_bytes_per_second"] = result.stream_rate;
    if (!result.drafters.empty()) json["drafters"] = result.drafters;
    if (cell.sequences == 1) {
      json["bytes_per_token"] = bytes_per_token(run, result);
      json["fraction_of_stream_read"] = stream_fraction(run, result);
      json["fits_last_cache"] = fits_last_cache(run, result);
    }
  } else {
    json["time_to_first_token_ms"] = milliseconds(result.first_token);
    if (run.frequency != 0) json["multiplications_per_cycle"] = macs_per_cycle(run, result);
  }
  json["peak_memory_bytes"] = result.peak_bytes;
  return json;
}

std::string cell_line(const BenchRun& run, const BenchResult& result) {
  const BenchCell& cell = result.cell;
  const std::vector<double>& times = cell.decode ? result.per_token : result.first_token;
  std::string limit;
  if (const double fraction = stream_fraction(run, result); fraction != 0) {
    limit = format_text("%.0f %% of %.1f GB/s%s", 100 * fraction, result.stream_rate / 1e9,
                        fits_last_cache(run, result) ? ", in the cache" : "");
  } else if (const double macs = macs_per_cycle(run, result); macs != 0) {
    limit = format_text("%.1f MAC/cycle", macs);
  }
  return format_text(
      "%-7s %6llu %4llu %6llu %-5s %3u %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f  %s\n",
      cell.decode ? "decode" : "prefill", static_cast<unsigned long long>(cell.tokens),
      static_cast<unsigned long long>(cell.sequences), static_cast<unsigned long long>(cell.depth),
      run.cache_type.c_str(), run.execution.threads, percentile(result.rates, 0.5),
      *std::min_element(result.rates.begin(), result.rates.end()),
      *std::max_element(result.rates.begin(), result.rates.end()), 1e3 * percentile(times, 0.5),
      1e3 * percentile(times, 0.95), 1e3 * percentile(times, 0.99), limit.c_str());
}

uint64_t peak_bytes(const BenchRun& run) {
  uint64_t most = 0;
  for (const BenchResult& result : run.results) most = std::max(most, result.peak_bytes);
  return most;
}

}  // namespace

void describe_model(const tenon::Model& model, BenchReport& report, BenchRun& run) {
  const tenon_model_info info = model.info();
  report.name.assign(info.name, info.name_length);
  report.architecture.assign(info.architecture, info.architecture_length);
  report.backend.assign(info.backend, info.backend_length);
  report.formats = formats_of(model);
  report.parameters = info.parameters;
  report.tensor_bytes = info.tensor_bytes;
  run.execution = model.execution();
  run.device.assign(run.execution.device, run.execution.device_length);
}

std::string model_lines(const BenchReport& report) {
  std::string text = "model    " + printable(report.path, 200) + "\n";
  const uint64_t active = report.runs.empty() ? 0 : active_parameters(report.runs.front());
  text +=
      format_text("         %s, %s parameters (%s active), %s, %s\n", report.architecture.c_str(),
                  rounded_count(static_cast<double>(report.parameters)).c_str(),
                  rounded_count(static_cast<double>(active)).c_str(), report.formats.c_str(),
                  size_text(report.tensor_bytes).c_str());
  text += "engine   tenon " + std::string(tenon::version()) + ", backend " + report.backend;
  text += (report.options.empty() ? "" : ", " + report.options) + "\n";
  for (const BenchRun& run : report.runs) {
    const double huge = static_cast<double>(run.execution.huge_page_bytes);
    text += format_text("device   %s, %s, %.2f GHz, cache %s\n", run.device.c_str(),
                        counted(run.execution.threads, "thread").c_str(), run.frequency / 1e9,
                        run.cache_type.c_str());
    text += format_text("         loaded in %.2f s, %s of weights on 2 MiB pages", run.load_seconds,
                        size_text(static_cast<uint64_t>(huge)).c_str());
    text += (run.results.empty() ? "" : ", peak " + size_text(peak_bytes(run))) + "\n";
  }
  return text;
}

std::string bench_table(const BenchReport& report) {
  std::string text = model_lines(report);
  text +=
      "\nphase   tokens  seq  depth cache thr  tokens/s     least      most   p50 ms    p95 ms    "
      "p99 ms  of the limit\n";
  for (const BenchRun& run : report.runs) {
    for (const BenchResult& result : run.results) {
      text += cell_line(run, result);
      if (!result.drafters.empty()) text += result.drafters;
    }
  }
  return text +
         "(ms: prefill to the first token, decode per token; tokens/s: median over repetitions, of "
         "all sequences;\n in the cache: what a token reads may be no larger than the last cache, "
         "and then memory is no limit)\n";
}

ordered_json model_json(const BenchReport& report) {
  ordered_json json = {
      {"model", report.path},
      {"name", report.name},
      {"architecture", report.architecture},
      {"parameters", report.parameters},
      {"format", report.formats},
      {"tensor_bytes", report.tensor_bytes},
      {"engine", "tenon"},
      {"engine_version", tenon::version()},
      {"backend", report.backend},
      {"options", report.options},
  };
  return json;
}

std::string bench_json(const BenchReport& report) {
  ordered_json json = model_json(report);
  json["repetitions"] = report.repetitions;
  json["runs"] = ordered_json::array();
  for (const BenchRun& run : report.runs) {
    const tenon_execution& how = run.execution;
    ordered_json one = {
        {"device", run.device},
        {"threads", how.threads},
        {"cache_type", run.cache_type},
        {"active_parameters", active_parameters(run)},
        {"bytes_per_token", how.step_bytes},
        {"weights_on_2mib_pages_bytes", how.huge_page_bytes},
        {"frequency_hz", run.frequency},
        {"load_seconds", run.load_seconds},
        {"peak_memory_bytes", peak_bytes(run)},
        {"cells", ordered_json::array()},
    };
    for (const BenchResult& result : run.results) one["cells"].push_back(cell_json(run, result));
    json["runs"].push_back(std::move(one));
  }
  return json_text(json);
}

std::string json_text(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tenon_program
