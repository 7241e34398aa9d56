// Measures what adapters cost: single tokens of eight sessions in one batch, without a bank, with
// an empty one, and with an adapter of rank 16 for each session, which changes every linear.
//
//   tenon make-model llama-1b Q4_K_M llama-1b-Q4_K_M.gguf
//   build-bench/bin/bench_adapters llama-1b-Q4_K_M.gguf [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/session.h"
#include "model/adapter_bank.h"
#include "model/model.h"
#include "random_tokens.h"

namespace tenon {
namespace {

constexpr uint32_t kSessions = 8;
constexpr uint32_t kRank = 16;
constexpr uint32_t kTokens = 24;

std::shared_ptr<const Model> open(const char* path, uint32_t slots) {
  ModelOptions options;
  options.adapter_slots = slots;
  options.adapter_rank = kRank;
  return Model::load(path, options);
}

std::shared_ptr<const Adapter> make_adapter(const Model& model, uint32_t seed) {
  auto adapter = std::make_shared<Adapter>();
  for (const AdapterSite& site : model.trunk().adapters.sites) {
    const RowSource::Place place = site.source.place(0, 0);
    LowRankChange& change = adapter->changes.emplace_back();
    change.tensor =
        place.tensor->name == "token_embd.weight" ? "output.weight" : place.tensor->name;
    change.first_row = place.row;
    change.num_rows = site.source.num_rows();
    change.num_columns = site.source.num_columns();
    change.rank = kRank;
    change.a.assign(kRank * change.num_columns, 1e-3f);
    change.b.assign(change.num_rows * kRank, 1e-3f);
  }
  adapter->fingerprint.low = seed;
  return adapter;
}

/// Tokens per second of all sessions.
double decode_speed(const std::shared_ptr<const Model>& model, bool with_adapters) {
  const auto engine = Engine::create(model);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> going;
  Sampler sampler;
  sampler.set("temperature", 0.0);
  GenerationOptions options;
  options.max_tokens = kTokens + 1;
  options.ends.ignore_end = true;
  for (uint32_t i = 0; i < kSessions; ++i) {
    sessions.push_back(std::make_unique<Session>(engine));
    if (with_adapters) {
      const ScaledAdapter one{make_adapter(*model, i + 1), 1.0f};
      sessions.back()->set_adapters({&one, 1});
    }
    sessions.back()->append(make_tokens(*model, 8, i + 1));
    sessions.back()->prefill();
    going.push_back(sessions.back()->submit(sampler, options));
  }
  engine->step();
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kTokens; ++i) engine->step();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  for (const auto& one : going) engine->cancel(*one);
  while (engine->step()) {
  }
  return kSessions * kTokens / time.count();
}

void run(const char* path, int rounds) {
  const auto plain = open(path, 0);
  const auto bank = open(path, kSessions);
  for (int round = 0; round < rounds; ++round) {
    const double without = decode_speed(plain, false);
    const double empty = decode_speed(bank, false);
    const double each = decode_speed(bank, true);
    std::printf("without a bank %.2f tokens/s, empty %.2f (%.3f), 8 adapters %.2f (%.3f)\n",
                without, empty, empty / without, each, each / without);
  }
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: bench_adapters MODEL [ROUNDS]\n", stderr);
    return 2;
  }
  tenon::run(argv[1], argc == 3 ? std::atoi(argv[2]) : 3);
}
