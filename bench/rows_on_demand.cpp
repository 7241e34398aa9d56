// Cost of leaving tables in the file: compares decoding with all weights in memory and with row
// caches of a quarter and a sixteenth of the tables.
//
//   tenon make-model gemma3n-200m q8_0 gemma3n-200m.gguf
//   build-bench/bin/bench_rows_on_demand gemma3n-200m.gguf [threads]
//
// Tokens are uniform over the vocabulary, which is the worst case: most tokens of a real text are
// among a few thousand. Rounds of the three alternate, so that a busy machine slows all alike.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/session.h"
#include "model/model.h"
#include "weights/row_fetcher.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kRoundTokens = 64;
constexpr uint32_t kRounds = 15;

/// Way to open the model, and its speed.
struct Way {
  const char* name;
  uint64_t part;  ///< tables per row cache, in bytes; 0 means all weights in memory
  std::shared_ptr<const Model> model{};
  std::shared_ptr<Engine> engine{};
  std::vector<double> rates{};  ///< tokens per second, per round
};

ModelOptions options_of(const Way& way, uint64_t tables, uint32_t threads) {
  ModelOptions options;
  options.threads = threads;
  options.context = 512;
  options.rows_on_demand = way.part == 0 ? Switch::Off : Switch::On;
  options.row_cache_bytes = way.part == 0 ? 0 : tables / way.part;
  return options;
}

/// Decodes a round; returns tokens per second.
double run_round(Way& way, uint32_t& state) {
  Session session(way.engine);
  const uint32_t vocab = way.model->spec().vocab;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<Token>(uint64_t{state} * vocab >> 32);
  };
  const auto decode = [&] {
    const Token token = next();
    session.append(std::span(&token, 1));
    (void)session.logits();
  };
  decode();
  const Clock::time_point begin = Clock::now();
  for (uint32_t i = 0; i < kRoundTokens; ++i) decode();
  return kRoundTokens / std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(const std::string& path, uint32_t threads) {
  ModelOptions inspect;
  inspect.inspect = true;
  inspect.rows_on_demand = Switch::On;
  const auto like = Model::load(path, std::move(inspect));
  const uint64_t tables = table_bytes(like->trunk().tables);
  Way ways[] = {{"in memory", 0}, {"cache 1/4", 4}, {"cache 1/16", 16}};
  for (Way& way : ways) {
    way.model = Model::load(path, options_of(way, tables, threads));
    way.engine = Engine::create(way.model);
  }
  std::printf("%s: tables of %.1f MB, %.1f MB of other weights\n", path.c_str(),
              static_cast<double>(tables) * 1e-6,
              static_cast<double>(like->file().tensor_bytes() - tables) * 1e-6);
  // The first rounds bring the file into the page cache.
  for (uint32_t round = 0; round < kRounds + 2; ++round) {
    for (Way& way : ways) {
      uint32_t state = round + 1;
      const double rate = run_round(way, state);
      if (round >= 2) way.rates.push_back(rate);
    }
  }
  for (const Way& way : ways) {
    const RowFetcher* fetcher = way.model->trunk().fetcher.get();
    std::printf("%-10s  %8.1f MB  %8.1f tokens/s  %.3f of it in memory  %llu rows read\n", way.name,
                static_cast<double>(way.model->memory(64).weights_bytes) * 1e-6, median(way.rates),
                median(way.rates) / median(ways[0].rates),
                static_cast<unsigned long long>(fetcher == nullptr ? 0 : fetcher->rows_read()));
  }
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "bench_rows_on_demand MODEL [threads]\n");
    return 2;
  }
  try {
    tenon::compare(argv[1], argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
