// tenon bench: prefill and decode speed of a model on this machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "commands.h"
#include "failure.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

struct BenchFlags {
  std::string model;
  uint64_t prompt = 512;
  uint64_t generate = 64;
  uint64_t repetitions = 5;
  bool json = false;
  OptionFlags model_options;
};

/// Speed of one phase over the repetitions, tokens per second.
struct Speed {
  const char* phase;
  uint64_t tokens;
  std::vector<double> rates;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    const size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  [[nodiscard]] double least() const { return *std::min_element(rates.begin(), rates.end()); }
  [[nodiscard]] double most() const { return *std::max_element(rates.begin(), rates.end()); }
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Ids spread over the vocabulary: speed does not depend on which, only that they differ.
std::vector<tenon::Token> spread_tokens(uint64_t count, uint64_t vocabulary) {
  std::vector<tenon::Token> tokens(count);
  uint64_t state = 1;
  for (tenon::Token& token : tokens) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    token = static_cast<tenon::Token>((state >> 33) % vocabulary);
  }
  return tokens;
}

std::vector<Speed> measure(const tenon::Model& model, const BenchFlags& flags) {
  const uint64_t vocabulary = model.info().vocabulary;
  const std::vector<tenon::Token> prompt =
      spread_tokens(std::max<uint64_t>(flags.prompt, 1), vocabulary);
  tenon::Session session(model,
                         {.context = static_cast<int64_t>(prompt.size() + flags.generate + 1)});
  tenon::Sampler greedy({.temperature = 0.0});
  Speed prefill{"prefill", flags.prompt, {}};
  Speed decode{"decode", flags.generate, {}};
  ProgressBar progress("measuring");
  // The first round warms up caches and clocks and is not counted.
  for (uint64_t round = 0; round <= flags.repetitions; ++round) {
    session.rewind(0);
    session.append(prompt);
    const double prefill_seconds = seconds_of([&] { session.prefill(); });
    // The first token needs no step of its own.
    (void)session.logits();
    const double decode_seconds = seconds_of([&] {
      for (uint64_t i = 0; i < flags.generate; ++i) {
        for (const tenon::Piece& piece : session.generate(greedy, 1)) (void)piece;
        (void)session.logits();
      }
    });
    progress.update(static_cast<double>(round + 1) / static_cast<double>(flags.repetitions + 1));
    if (round == 0) continue;
    prefill.rates.push_back(static_cast<double>(flags.prompt) / prefill_seconds);
    decode.rates.push_back(static_cast<double>(flags.generate) / decode_seconds);
  }
  std::vector<Speed> result;
  if (flags.prompt != 0) result.push_back(prefill);
  if (flags.generate != 0) result.push_back(decode);
  return result;
}

void print_table(const std::vector<Speed>& speeds) {
  print("phase     tokens  tokens/s median       least        most\n");
  for (const Speed& speed : speeds) {
    std::array<char, 128> line{};
    std::snprintf(line.data(), line.size(), "%-8s %7llu  %15.2f %11.2f %11.2f\n", speed.phase,
                  static_cast<unsigned long long>(speed.tokens), speed.median(), speed.least(),
                  speed.most());
    print(line.data());
  }
}

void print_json(const tenon::Model& model, const BenchFlags& flags,
                const std::vector<Speed>& speeds) {
  const tenon_model_summary info = model.info();
  nlohmann::ordered_json json = {{"model", flags.model},
                                 {"backend", std::string(info.backend, info.backend_length)},
                                 {"tensor_bytes", info.tensor_bytes},
                                 {"repetitions", flags.repetitions}};
  for (const Speed& speed : speeds) {
    json[speed.phase] = {{"tokens", speed.tokens},
                         {"median_tokens_per_second", speed.median()},
                         {"tokens_per_second", speed.rates}};
  }
  print(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void bench(const BenchFlags& flags) {
  if (flags.repetitions == 0 || flags.prompt + flags.generate == 0) {
    throw Failure("there is nothing to measure; give -r and one of -p and -n at least 1");
  }
  ProgressBar loading("loading");
  const tenon::Model model(flags.model,
                           {.extra = flags.model_options.values(), .progress = loading.callback()});
  loading.clear();
  const std::vector<Speed> speeds = measure(model, flags);
  if (flags.json) {
    print_json(model, flags, speeds);
  } else {
    print_table(speeds);
  }
  flush();
}

}  // namespace

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure prefill and decode speed");
  command->add_option("MODEL", flags->model, "GGUF file")->required();
  command->add_option("-p,--prompt", flags->prompt, "Tokens to prefill (default 512)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 24));
  command->add_option("-n,--generate", flags->generate, "Tokens to generate (default 64)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 24));
  command->add_option("-r,--repetitions", flags->repetitions, "Rounds to measure (default 5)")
      ->type_name("N")
      ->check(CLI::Range(1, 10000));
  command->add_flag("--json", flags->json, "Print JSON with every round");
  flags->model_options.add(*command, TENON_SCOPE_MODEL, "Model", {"vocabulary_only", "inspect"});
  command->callback([flags] { bench(*flags); });
}

}  // namespace tenon_program
