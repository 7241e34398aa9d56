// Measures an engine's promises on a model of realistic size: latency of a cancel, length of steps
// beside a prompt, cost of scheduling, gain of a shared prefix and of a store. Each takes up to a
// minute and needs a quiet machine.
//
//   tenon make-model llama-1b Q4_K_M llama-1b-Q4_K_M.gguf
//   build-bench/bin/bench_engine_latency llama-1b-Q4_K_M.gguf [NAME]...
//
// NAME: cancel, prompt, scheduling, prefix, restart (first token from a store), writing (cost of a
// store)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "base/byte_source.h"
#include "base/hash.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "model/model.h"
#include "random_tokens.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;
using ModelPointer = std::shared_ptr<const Model>;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(part * static_cast<double>(values.size() - 1))];
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Sampler greedy_sampler() {
  Sampler sampler;
  sampler.set("temperature", 0.0);
  return sampler;
}

/// Milliseconds per step, for `seconds` or until done() is true.
template <typename Done>
std::vector<double> time_steps(Engine& engine, double seconds, Done done) {
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end && !done()) {
    const auto start = Clock::now();
    engine.step();
    times.push_back(milliseconds(Clock::now() - start));
  }
  return times;
}

constexpr auto kNever = [] { return false; };

/// Sessions that decode without end.
struct Decodes {
  Decodes(const std::shared_ptr<Engine>& engine, uint32_t count) {
    GenerationOptions limits;
    limits.ends.ignore_end = true;
    for (uint32_t i = 0; i < count; ++i) {
      sessions.push_back(std::make_unique<Session>(engine, SessionOptions{4096}));
      sessions.back()->append(make_tokens(engine->model(), 16, i));
      generations.push_back(sessions.back()->submit(greedy, limits));
    }
    while (std::ranges::any_of(generations, [](const auto& g) { return g->tokens.empty(); })) {
      engine->step();
    }
  }
  Sampler greedy = greedy_sampler();
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
};

/// Session whose first `depth` tokens count as computed; zeros suffice for measuring time.
std::unique_ptr<Session> at_depth(const std::shared_ptr<Engine>& engine,
                                  std::span<const Token> text) {
  auto session = std::make_unique<Session>(engine, SessionOptions{8192});
  session->append(text);
  std::vector<std::byte> bytes;
  session->save([&](std::span<const std::byte> part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  bytes.resize(bytes.size() - 16);  // drop the checksum
  const uint64_t num_blocks = text.size() / engine->block_tokens();
  const uint64_t position = num_blocks * engine->block_tokens();
  std::memcpy(bytes.data() + 48, &position, sizeof(position));  // SnapshotHeader
  for (uint64_t i = 0; i <= num_blocks; ++i) {
    bytes.resize(bytes.size() + engine->piece_bytes({position, i}));
  }
  const Hash128 sum = hash_bytes(bytes);
  bytes.resize(bytes.size() + 16);
  std::memcpy(bytes.data() + bytes.size() - 16, &sum.low, 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &sum.high, 8);
  session->restore(*ByteSource::from_memory(bytes, "zeros"));
  return session;
}

void measure_cancel_in_a_long_prompt(const ModelPointer& model) {
  const auto engine = Engine::create(model);
  std::vector<std::unique_ptr<Session>> bases;
  for (const uint32_t depth : {32u, 2048u, 5120u, 7616u}) {
    bases.push_back(at_depth(engine, make_tokens(*model, depth, 1)));
  }
  std::vector<double> delays;
  const auto end = Clock::now() + std::chrono::seconds(40);
  for (uint32_t i = 0; Clock::now() < end; ++i) {
    const auto session = bases[i % bases.size()]->fork();
    session->append(make_tokens(*model, 512, i));
    Clock::time_point returned;
    bool done = false;
    std::thread prefill([&] {
      try {
        session->prefill();
        done = true;
      } catch (const Error&) {  // cancelled
      }
      returned = Clock::now();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + i * 37 % 500));
    const Clock::time_point cancelled = Clock::now();
    session->cancel();
    prefill.join();
    if (!done) delays.push_back(milliseconds(returned - cancelled));
    // Completing steps restores the normal step size.
    Session idle(engine, SessionOptions{64});
    for (uint32_t step = 0; step < 7; ++step) {
      idle.append(make_tokens(*model, 1, step));
      idle.prefill();
    }
  }
  if (delays.empty()) return;
  std::printf("cancel to return, %zu cancels: p50 %.2f ms, p99 %.2f ms, max %.2f ms\n",
              delays.size(), percentile(delays, 0.5), percentile(delays, 0.99),
              percentile(delays, 1));
}

void measure_prompt_beside_decodes(const ModelPointer& model) {
  const auto engine = Engine::create(model);
  const Decodes decodes(engine, 8);
  time_steps(*engine, 2, kNever);
  std::vector<double> without = time_steps(*engine, 6, kNever);

  Session prompt(engine, SessionOptions{8192});
  prompt.append(make_tokens(*model, 4096, 99));
  GenerationOptions one;
  one.max_tokens = 1;
  const auto generation = prompt.submit(decodes.greedy, one);
  time_steps(*engine, 2, kNever);  // lets the slice size settle
  const uint64_t before = engine->metrics().prompt_tokens_total;
  const std::vector<double> with = time_steps(*engine, 20, [&] { return generation->ended; });
  const uint64_t computed = engine->metrics().prompt_tokens_total - before;
  // Decoding slows down as the texts grow, so measure it again.
  engine->cancel(*generation);
  const std::vector<double> later = time_steps(*engine, 6, kNever);
  without.insert(without.end(), later.begin(), later.end());
  // Compute the same number of prompt tokens alone, in the largest slices.
  Session alone(engine, SessionOptions{8192});
  alone.append(make_tokens(*model, static_cast<uint32_t>(computed), 98));
  for (const auto& decode : decodes.generations) engine->cancel(*decode);
  const auto begin = Clock::now();
  alone.prefill();
  const double alone_ms = milliseconds(Clock::now() - begin) / static_cast<double>(computed);
  const double slice = static_cast<double>(computed) / static_cast<double>(with.size());
  const double cost_ms = (mean(with) - mean(without)) / slice;
  std::printf("8 decodes: %zu steps, mean %.1f, p50 %.1f, p99 %.1f ms\n", without.size(),
              mean(without), percentile(without, 0.5), percentile(without, 0.99));
  std::printf("beside a prompt: %zu steps, mean %.1f, p50 %.1f, p99 %.1f ms: p99 %.2f times\n",
              with.size(), mean(with), percentile(with, 0.5), percentile(with, 0.99),
              percentile(with, 0.99) / percentile(without, 0.99));
  std::printf("slices of %.1f tokens: %.2f ms for each token of the prompt, alone %.2f: %+.0f %%\n",
              slice, cost_ms, alone_ms, 100 * (cost_ms / alone_ms - 1));
}

void measure_scheduling_of_32(const ModelPointer& model) {
  const auto engine = Engine::create(model);
  const Decodes decodes(engine, 32);
  const EngineMetrics before = engine->metrics();
  const std::vector<double> times = time_steps(*engine, 20, kNever);
  const EngineMetrics after = engine->metrics();
  const double in_steps = after.step_seconds_total - before.step_seconds_total;
  const double around = after.schedule_seconds_total - before.schedule_seconds_total;
  std::printf("32 decodes: %zu steps, p50 %.1f ms; scheduling %.1f us a step, %.3f %%\n",
              times.size(), percentile(times, 0.5),
              1e6 * around / static_cast<double>(times.size()), 100 * around / in_steps);
}

void measure_shared_prefix_of_64(const ModelPointer& model) {
  EngineOptions sharing = unbounded_engine();
  sharing.prefix_cache = true;
  const auto engine = Engine::create(model, sharing);
  const std::vector<Token> prefix = make_tokens(*model, 1000, 5);
  GenerationOptions two;
  two.max_tokens = 2;
  two.ends.ignore_end = true;
  const Sampler greedy = greedy_sampler();
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (uint32_t i = 0; i < 64; ++i) {
    sessions.push_back(std::make_unique<Session>(engine, SessionOptions{2048}));
    sessions.back()->append(prefix);
    sessions.back()->append(make_tokens(*model, 8, i));
    generations.push_back(sessions.back()->submit(greedy, two));
  }
  time_steps(*engine, 50, [&] {
    return std::ranges::all_of(generations, [](const auto& g) { return g->ended; });
  });
  const EngineMetrics metrics = engine->metrics();
  const uint64_t computed = metrics.prompt_tokens_total + metrics.decode_tokens_total;
  // 31 shared blocks of the prefix, and per session a block for the rest of the prefix and its own
  // tokens.
  const uint64_t predicted = (31 + 64) * engine->pools()[0]->block_bytes();
  std::printf(
      "64 x (1000 + 8 + 2): %zu tokens computed, at least %u; KV %.1f MB, predicted %.1f MB\n",
      static_cast<size_t>(computed), 992 + 64 * (8 + 8 + 1),
      static_cast<double>(metrics.kv_used_bytes) * 1e-6, static_cast<double>(predicted) * 1e-6);
}

/// An engine with a store in a folder of its own.
class StoreFolder {
 public:
  StoreFolder() { std::filesystem::remove_all(path_); }
  ~StoreFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  [[nodiscard]] std::shared_ptr<Engine> engine(const ModelPointer& model, bool stores) const {
    EngineOptions options;
    options.cache_bytes = uint64_t{2} << 30;
    if (stores) options.store = path_.string();
    return Engine::create(model, options);
  }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / "tenon-bench-store";
};

/// From a new engine to the first token of a prompt.
double time_first_token(const ModelPointer& model, const StoreFolder& folder, bool stores,
                        uint32_t num_tokens, uint32_t seed) {
  const auto start = Clock::now();
  const auto engine = folder.engine(model, stores);
  Session session(engine, SessionOptions{8192});
  session.append(make_tokens(*model, num_tokens, seed));
  Sampler greedy = greedy_sampler();
  (void)session.next(greedy);
  const double time = milliseconds(Clock::now() - start);
  engine->settle_store();
  return time;
}

void measure_a_restart(const ModelPointer& model) {
  const StoreFolder folder;
  const double cold = time_first_token(model, folder, true, 4096, 1);
  std::vector<double> warm;
  for (int i = 0; i < 5; ++i) warm.push_back(time_first_token(model, folder, true, 4096, 1));
  std::printf("4096 tokens to the first: %.0f ms, after a restart p50 %.0f, max %.0f: %.2f %%\n",
              cold, percentile(warm, 0.5), percentile(warm, 1), 100 * percentile(warm, 0.5) / cold);
}

void measure_writing(const ModelPointer& model) {
  const StoreFolder folder;
  std::vector<double> prompts[2];
  for (uint32_t i = 0; i < 8; ++i) {
    const bool stores = i % 4 == 1 || i % 4 == 2;
    prompts[stores ? 1 : 0].push_back(time_first_token(model, folder, stores, 512, 10 + i));
  }
  std::vector<double> steps[2];
  for (uint32_t i = 0; i < 8; ++i) {
    const bool stores = i % 4 == 1 || i % 4 == 2;
    const auto engine = folder.engine(model, stores);
    const Decodes decodes(engine, 8);
    time_steps(*engine, 0.5, kNever);
    const std::vector<double> times = time_steps(*engine, 4, kNever);
    steps[stores ? 1 : 0].insert(steps[stores ? 1 : 0].end(), times.begin(), times.end());
  }
  std::printf("512 tokens: mean %.1f ms, with a store %.1f: %+.2f %%\n", mean(prompts[0]),
              mean(prompts[1]), 100 * (mean(prompts[1]) / mean(prompts[0]) - 1));
  std::printf("8 decodes: mean %.2f ms a step, with a store %.2f: %+.2f %%\n", mean(steps[0]),
              mean(steps[1]), 100 * (mean(steps[1]) / mean(steps[0]) - 1));
}

/// Name on the command line, and the measurement.
struct Measurement {
  std::string_view name;
  void (*measure)(const ModelPointer& model);
};

constexpr Measurement kMeasurements[] = {{"cancel", measure_cancel_in_a_long_prompt},
                                         {"prompt", measure_prompt_beside_decodes},
                                         {"scheduling", measure_scheduling_of_32},
                                         {"prefix", measure_shared_prefix_of_64},
                                         {"restart", measure_a_restart},
                                         {"writing", measure_writing}};

bool is_known(std::string_view name) {
  return std::ranges::any_of(kMeasurements, [&](const Measurement& m) { return m.name == name; });
}

/// Runs the named measurements, or all.
void run(const char* path, std::span<char* const> names) {
  const ModelPointer model = Model::load(path);
  for (const Measurement& measurement : kMeasurements) {
    const auto is_it = [&](std::string_view name) { return name == measurement.name; };
    if (names.empty() || std::ranges::any_of(names, is_it)) measurement.measure(model);
  }
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const std::span<char* const> names(argv + std::min(argc, 2), argv + argc);
  if (argc < 2 || !std::ranges::all_of(names, tenon::is_known)) {
    std::fputs(
        "usage: bench_engine_latency MODEL [cancel|prompt|scheduling|prefix|restart|writing]...\n",
        stderr);
    return 2;
  }
  tenon::run(argv[1], names);
}
