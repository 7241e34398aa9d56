// Time to sample a token from a large vocabulary's logits. A millisecond is four percent of the
// time at forty tokens a second.
//
//   build-bench/bin/bench_sampler_chains
#include <benchmark/benchmark.h>

#include <string>
#include <utility>
#include <vector>

#include "sampler/sampler.h"

namespace tenon {
namespace {

constexpr size_t kVocabulary = 128256;

/// Distributed as about N(0, 2^2), like the logits of a trained model.
std::vector<float> make_logits() {
  std::vector<float> logits(kVocabulary);
  uint64_t state = 1;
  for (float& logit : logits) {
    float sum = 0;
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<float>(state >> 40) * 0x1p-24f - 0.5f;
    }
    logit = sum * 3.46f;
  }
  return logits;
}

using Settings = std::vector<std::pair<const char*, double>>;

void run(benchmark::State& state, const Settings& settings) {
  const std::vector<float> logits = make_logits();
  std::vector<int32_t> history(64);
  for (int32_t& token : history) token = static_cast<int32_t>(&token - history.data()) * 997;
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  for (const auto& [name, value] : settings) {
    const bool whole = std::string(name) == "top_k" || std::string(name) == "repeat_last_n";
    if (whole) {
      sampler.set(name, static_cast<int64_t>(value));
    } else {
      sampler.set(name, value);
    }
  }
  uint64_t position = 0;
  for (auto _ : state) benchmark::DoNotOptimize(sampler.sample(logits, history, position++));
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  using tenon::Settings;
  const std::pair<const char*, Settings> chains[] = {
      {"greedy", {{"temperature", 0.0}}},
      {"defaults", {}},
      {"temperature_only", {{"temperature", 1.0}, {"top_k", 0}, {"top_p", 1.0}, {"min_p", 0.0}}},
      {"top_p_of_all", {{"temperature", 1.0}, {"top_k", 0}, {"top_p", 0.9}, {"min_p", 0.0}}},
      {"penalties", {{"repeat_penalty", 1.1}, {"repeat_last_n", 64}}},
  };
  for (const auto& [name, settings] : chains) {
    benchmark::RegisterBenchmark(name, [&s = settings](benchmark::State& state) {
      tenon::run(state, s);
    })->Unit(benchmark::kMicrosecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
