// tenon bench: prefill and decode speed of a model, compared with the machine's own limits; or,
// with --clients, the results of a load of many requests.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench_cells.h"
#include "bench_checks.h"
#include "bench_machine.h"
#include "bench_report.h"
#include "commands.h"
#include "failure.h"
#include "format_text.h"
#include "hub_access.h"
#include "load_report.h"
#include "load_run.h"
#include "number_lists.h"
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
  tenon::Log log = warnings();
  // Load options, with --clients:
  LoadOptions load;
  std::string prompt_tokens{"128"};
  std::string output_tokens{"64"};
  OptionFlags engine_options;
};

/// The engine's option of decode cells; "off" unless it is given.
std::string speculation_of(const BenchFlags& flags) {
  std::string word = "off";
  for (const auto& [key, value] : flags.engine_options.values()) {
    if (key != "speculation") {
      throw Failure("options of the engine are for a load; give --clients as well");
    }
    word = value;
  }
  return word;
}

std::vector<BenchCell> cells_of(const BenchFlags& flags) {
  std::vector<BenchCell> cells;
  for (const uint64_t depth : flags.depths) {
    for (const uint64_t tokens : flags.prompts) {
      if (tokens != 0) cells.push_back({false, tokens, 1, depth});
    }
    for (const uint64_t sequences : flags.sequences) {
      for (const uint64_t tokens : flags.generates) {
        if (tokens != 0) cells.push_back({true, tokens, sequences, depth, speculation_of(flags)});
      }
    }
  }
  return cells;
}

tenon::Model load_model(const BenchFlags& flags, const tenon::ExtraOptions& options,
                        BenchReport& report, BenchRun& run) {
  PeakMemory().restart();
  const auto start = std::chrono::steady_clock::now();
  ProgressBar loading("loading");
  tenon::Model model(flags.model,
                     {.extra = options, .progress = loading.callback(), .log = &flags.log});
  run.load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  loading.clear();
  describe_model(model, report, run);
  run.frequency = core_frequency();
  return model;
}

/// Loads the model and measures all cells with it.
BenchRun run_once(const BenchFlags& flags, const std::vector<BenchCell>& cells,
                  const tenon::ExtraOptions& options, RecentStreamRate& stream,
                  BenchReport& report) {
  BenchRun run;
  const tenon::Model model = load_model(flags, options, report, run);
  PeakMemory peak;
  ProgressBar measuring("measuring");
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto progress = [&](double fraction) {
      measuring.update((static_cast<double>(i) + fraction) / static_cast<double>(cells.size()));
    };
    run.results.push_back(run_cell(model, cells[i], flags.repetitions, progress));
    BenchResult& result = run.results.back();
    result.peak_bytes = peak.bytes();
    if (result.cell.decode) {
      const uint64_t half_way = result.cell.depth + result.cell.tokens / 2;
      result.cache_bytes = model.memory(std::max<uint64_t>(half_way, 1)).token_cache_bytes;
      result.stream_rate = stream.get(run.execution.threads);
    }
    peak.restart();
  }
  return run;
}

BenchReport new_report(const BenchFlags& flags) {
  BenchReport report;
  report.path = flags.model;
  report.repetitions = flags.repetitions;
  const auto add = [&](const OptionFlags& options) {
    for (const auto& [key, value] : options.values()) {
      report.options += (report.options.empty() ? "" : " ") + key + "=" + value;
    }
  };
  add(flags.model_options);
  add(flags.engine_options);
  return report;
}

/// Options that vary between loads of the model; empty means the default.
struct Variant {
  std::string cache_type;
  std::string threads;

  [[nodiscard]] tenon::ExtraOptions options(const BenchFlags& flags) const {
    tenon::ExtraOptions options = flags.model_options.values();
    if (!cache_type.empty()) options.emplace_back("cache_type", cache_type);
    if (!threads.empty()) options.emplace_back("threads", threads);
    return options;
  }
  void describe(BenchRun& run) const {
    run.cache_type = cache_type.empty() ? find_option("cache_type").string_default : cache_type;
  }
};

std::vector<Variant> variants_of(const BenchFlags& flags) {
  const std::vector<std::string> unset{""};
  std::vector<Variant> variants;
  for (const std::string& cache_type : flags.cache_types.empty() ? unset : flags.cache_types) {
    for (const std::string& threads : flags.threads.empty() ? unset : flags.threads) {
      variants.push_back({cache_type, threads});
    }
  }
  return variants;
}

void bench_speed(const BenchFlags& flags) {
  const std::vector<BenchCell> cells = cells_of(flags);
  if (cells.empty()) {
    throw Failure("there is nothing to measure; give one of -p and -n at least 1");
  }
  const std::vector<Variant> variants = variants_of(flags);
  std::vector<tenon::ExtraOptions> options;
  for (const Variant& variant : variants) options.push_back(variant.options(flags));
  check_cells(flags.model, options, cells);
  BenchReport report = new_report(flags);
  RecentStreamRate stream;
  for (const Variant& variant : variants) {
    BenchRun run = run_once(flags, cells, variant.options(flags), stream, report);
    variant.describe(run);
    report.runs.push_back(std::move(run));
  }
  print(flags.json ? bench_json(report) : bench_table(report));
  flush();
}

void bench_load(const BenchFlags& flags) {
  LoadOptions load = flags.load;
  load.prompt_tokens = Distribution(flags.prompt_tokens);
  load.output_tokens = Distribution(flags.output_tokens);
  load.engine = flags.engine_options.values();
  const std::vector<Variant> variants = variants_of(flags);
  if (variants.size() != 1) {
    throw Failure("a load runs with one --cache-type and one --threads; give one of each");
  }
  BenchReport report = new_report(flags);
  BenchRun run;
  const tenon::Model model = load_model(flags, variants[0].options(flags), report, run);
  variants[0].describe(run);
  ProgressBar progress("measuring");
  const LoadResult result =
      run_load(model, load, [&](double fraction) { progress.update(fraction); });
  progress.clear();
  report.runs.push_back(std::move(run));
  print(flags.json ? load_json(report, load, result) : load_table(report, load, result));
  flush();
  if (const std::string fault = load_fault(result); !fault.empty()) throw Failure(fault);
}

/// Adds a flag with a list of numbers, which replaces the default in `into`.
void add_numbers(CLI::App& app, const char* flag, std::vector<uint64_t>& into, uint64_t least,
                 uint64_t most, const std::string& doc) {
  add_list(app, flag, "N,...", doc, [&into, flag, least, most](const auto& parts) {
    into.clear();
    for (const std::string& part : parts) {
      const std::string fault = number_fault(part, least, most, into.emplace_back());
      if (!fault.empty()) throw CLI::ValidationError(flag, fault);
    }
  });
}

void add_texts(CLI::App& app, const char* flag, const char* type, std::vector<std::string>& into,
               const std::string& doc) {
  add_list(app, flag, type, doc, [&into](const auto& parts) { into = parts; });
}

/// CLI::Range accepts NaN.
CLI::Validator within(double least, double most) {
  const std::string range = format_text("%g..%g", least, most);
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double value = 0;
        const bool read = CLI::detail::lexical_cast(text, value);
        return read && value >= least && value <= most ? "" : text + " is not in " + range;
      },
      range);
}

/// Adds the flags of a load, which exclude the flags of speed measurements.
void add_load(CLI::App& app, const std::shared_ptr<BenchFlags>& flags,
              std::initializer_list<const char*> of_speed) {
  LoadOptions& load = flags->load;
  CLI::Option* clients =
      app.add_option("--clients", load.clients, "Run a load of N clients instead")
          ->type_name("N")
          ->check(CLI::Range(1, 1 << 20));
  const auto add = [&](const char* flag, auto& into, const char* type, const std::string& doc) {
    return app.add_option(flag, into, doc)->type_name(type)->group("Load")->needs(clients);
  };
  clients->group("Load");
  add("--rate", load.rate, "R",
      "Requests per second of all clients, arriving at random (Poisson); 0: each client asks again "
      "when it has its answer (default 0)")
      ->check(within(0, 1e6));
  add("--prompt-tokens", flags->prompt_tokens, "DIST",
      "Lengths of prompts (default 128): " + Distribution::forms());
  add("--output-tokens", flags->output_tokens, "DIST", "Lengths of answers (default 64)");
  add("--shared-prefix", load.shared_prefix, "F",
      "Fraction of each prompt that all begin with (default 0)")
      ->check(within(0, 1));
  add("--duration", load.seconds, "S", "Seconds to measure (default 60)")->check(within(0.1, 1e6));
  add("--warmup", load.warmup_seconds, "S", "Seconds of load before that (default 0)")
      ->check(within(0, 1e6));
  add("--seed", load.seed, "N", "Another seed, other requests (default 0)");
  for (const char* flag : of_speed) app.get_option(flag)->excludes(clients);
  flags->engine_options.add(app, TENON_SCOPE_ENGINE, "Engine");
}

}  // namespace

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench",
                                         "Measure prefill and decode speed; lists (512,2048) "
                                         "measure every combination. With --clients: "
                                         "measure what a load of many requests gets");
  command->add_option("-m,--model,MODEL", flags->model, "GGUF file")->required();
  constexpr uint64_t kMost = 1 << 24;
  add_numbers(*command, "-p,--prompt", flags->prompts, 0, kMost, "Tokens to prefill (default 512)");
  add_numbers(*command, "-n,--generate", flags->generates, 0, kMost,
              "Tokens to generate (default 64)");
  add_numbers(*command, "--sequences", flags->sequences, 1, 4096,
              "Sequences that decode together, each with a token in every step (default 1)");
  add_numbers(*command, "--depth", flags->depths, 0, kMost,
              "Tokens already in the context (default 0)");
  add_texts(*command, "--cache-type", "TEXT,...", flags->cache_types, option_doc("cache_type"));
  add_texts(*command, "-t,--threads", "N,...", flags->threads, option_doc("threads"));
  command->add_option("-r,--repetitions", flags->repetitions, "Rounds to measure (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  command->add_flag("--json", flags->json, "Print JSON with every round, or every look at memory");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model",
                           {"vocabulary_only", "inspect", "cache_type", "threads"});
  add_load(*command, flags, {"--prompt", "--generate", "--sequences", "--depth", "--repetitions"});
  const CLI::Option* clients = command->get_option("--clients");
  command->callback([flags, clients] {
    flags->model = model_path(flags->model);
    clients->count() > 0 ? bench_load(*flags) : bench_speed(*flags);
  });
}

}  // namespace tenon_program
