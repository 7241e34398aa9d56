// tenon bench: prefill and decode speed of a model on this machine, beside the machine's own
// limits.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench_cells.h"
#include "bench_machine.h"
#include "bench_report.h"
#include "commands.h"
#include "failure.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct BenchFlags {
  std::string model;
  std::vector<uint64_t> prompts{512};
  std::vector<uint64_t> generates{64};
  std::vector<uint64_t> sequences{1};
  std::vector<uint64_t> depths{0};
  std::vector<std::string> cache_types;
  std::vector<std::string> threads;
  uint64_t repetitions = 5;
  bool json = false;
  OptionFlags model_options;
};

std::vector<BenchCell> cells_of(const BenchFlags& flags) {
  std::vector<BenchCell> cells;
  for (const uint64_t depth : flags.depths) {
    for (const uint64_t tokens : flags.prompts) {
      if (tokens != 0) cells.push_back({false, tokens, 1, depth});
    }
    for (const uint64_t sequences : flags.sequences) {
      for (const uint64_t tokens : flags.generates) {
        if (tokens != 0) cells.push_back({true, tokens, sequences, depth});
      }
    }
  }
  return cells;
}

std::string option_default(std::string_view name) {
  for (const tenon_option& option : tenon::option_list()) {
    if (option.name == name) return option.string_default;
  }
  return "";
}

/// Loads the model and measures all cells with it.
BenchRun run_once(const BenchFlags& flags, const std::vector<BenchCell>& cells,
                  const tenon::ExtraOptions& options, RecentStreamRate& stream,
                  BenchReport& report) {
  PeakMemory peak;
  peak.restart();
  BenchRun run;
  const auto start = std::chrono::steady_clock::now();
  ProgressBar loading("loading");
  const tenon::Model model(flags.model, {.extra = options, .progress = loading.callback()});
  run.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  loading.clear();
  describe_model(model, report, run);
  run.frequency = core_frequency();
  ProgressBar measuring("measuring");
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto progress = [&](double fraction) {
      measuring.update((static_cast<double>(i) + fraction) / static_cast<double>(cells.size()));
    };
    run.results.push_back(run_cell(model, cells[i], flags.repetitions, progress));
    BenchResult& result = run.results.back();
    result.peak_bytes = peak.bytes();
    if (result.cell.decode) result.stream_rate = stream.get(run.execution.threads);
    peak.restart();
  }
  return run;
}

void bench(const BenchFlags& flags) {
  const std::vector<BenchCell> cells = cells_of(flags);
  if (cells.empty()) {
    throw Failure("there is nothing to measure; give one of -p and -n at least 1");
  }
  BenchReport report;
  report.path = flags.model;
  report.repetitions = flags.repetitions;
  for (const auto& [key, value] : flags.model_options.values()) {
    report.options += (report.options.empty() ? "" : " ") + key + "=" + value;
  }
  RecentStreamRate stream;
  const std::vector<std::string> unset{""};
  for (const std::string& cache_type : flags.cache_types.empty() ? unset : flags.cache_types) {
    for (const std::string& threads : flags.threads.empty() ? unset : flags.threads) {
      tenon::ExtraOptions options = flags.model_options.values();
      if (!cache_type.empty()) options.emplace_back("cache_type", cache_type);
      if (!threads.empty()) options.emplace_back("threads", threads);
      BenchRun run = run_once(flags, cells, options, stream, report);
      run.cache_type = cache_type.empty() ? option_default("cache_type") : cache_type;
      report.runs.push_back(std::move(run));
    }
  }
  print(flags.json ? bench_json(report) : bench_table(report));
  flush();
}

void add_list(CLI::App& app, const char* flag, std::vector<uint64_t>& into, uint64_t least,
              uint64_t most, const char* doc) {
  app.add_option(flag, into, doc)
      ->delimiter(',')
      ->type_name("N,...")
      ->check(CLI::Range(least, most));
}

}  // namespace

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand(
      "bench", "Measure prefill and decode speed. Lists (512,2048) measure every combination");
  command->add_option("MODEL", flags->model, "GGUF file")->required();
  constexpr uint64_t kMost = 1 << 24;
  add_list(*command, "-p,--prompt", flags->prompts, 0, kMost, "Tokens to prefill (default 512)");
  add_list(*command, "-n,--generate", flags->generates, 0, kMost,
           "Tokens to generate (default 64)");
  add_list(*command, "--sequences", flags->sequences, 1, 4096,
           "Sequences that decode together (default 1)");
  add_list(*command, "--depth", flags->depths, 0, kMost,
           "Tokens already in the context (default 0)");
  command->add_option("--cache-type", flags->cache_types, "Element types of the KV cache")
      ->delimiter(',')
      ->type_name("TEXT,...");
  command->add_option("-t,--threads", flags->threads, "Threads that compute")
      ->delimiter(',')
      ->type_name("N,...");
  command->add_option("-r,--repetitions", flags->repetitions, "Rounds to measure (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  command->add_flag("--json", flags->json, "Print JSON with every round");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "cache_type", "threads"});
  command->callback([flags] { bench(*flags); });
}

}  // namespace tenon_program
