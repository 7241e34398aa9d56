#include "plan/hardware.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/control_groups.h"
#include "base/reserving_system.h"
#include "engine/device_slabs.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"
#include "model/model_executable.h"
#include "model/program_facts.h"
#include "model/program_runner.h"
#include "plan/probe_model.h"
#include "sampler/sampler.h"

namespace tenon {
namespace {

constexpr uint32_t kMostSequences = 1u << (kNumDecodeSizes - 1);
/// Prompt length: longer prompts take longer to measure and are no faster per token.
constexpr uint32_t kPromptTokens = 128;
/// Positions before the computed tokens when attention is measured.
constexpr uint32_t kDepth = 4096;
// A shared machine is slow for moments and for seconds: each time is the mean of many steps, as for
// a long answer, and of passes seconds apart.
constexpr int kPasses = 2;
constexpr uint64_t kLeastNs = 200'000'000;  // least time of the rounds in a pass
constexpr uint64_t kMostRounds = 10;

/// Runs the steps of a probe model: owns its executable, cache and sequences.
class Probe {
 public:
  Probe(const Model& model, const ModelOptions& options)
      : system_(options.system),
        probe_(make_probe_model(model, affordable_bytes(), kMostSequences)),
        vocab_(probe_.built.model.vocab),
        program_(compiled(probe_, options)),
        slabs_(program_.executable->device()) {
    LoadOptions load;
    load.team = &team();
    load.system = system_;
    load_weights(*probe_.file, program_.weights, *program_.executable, load);
    program_.executable->seal();
    pools_ = make_block_pools(slabs_, cache_groups(program(), *program_.executable),
                              program_.executable->device()->info().slab_bytes, UINT64_MAX);
    logits_ = Buffer(system_, kMostSequences * vocab_ * sizeof(float), "logits of a probe");
    const tenon_program& view = program().view();
    const RowFetcher::Options fetching{options.row_cache_bytes, view.max_tokens, view.token_history,
                                       &team(), system_};
    program_.fetcher = std::make_unique<RowFetcher>(*probe_.file, program_.tables, fetching);
    runner_ = std::make_unique<ProgramRunner>(program_, pools_, system_);
  }

  [[nodiscard]] const Program& program() const { return program_.program; }

  /// Cache bytes for a token after `depth` positions (seen_cache_bytes).
  [[nodiscard]] double cache_bytes_at(uint32_t depth) const {
    return seen_cache_bytes(cache_groups(program(), *program_.executable), depth);
  }

  /// Mean seconds of a step of `count` sequences that compute `tokens` each after `depth` positions
  /// and draw a token with the default sampler. The first round warms up and does not count.
  double step_seconds(uint32_t count, uint32_t tokens, uint32_t depth) {
    std::vector<Sequence> sequences;
    for (uint32_t i = 0; i < count; ++i) sequences.push_back(sequence_at(depth, tokens, i));
    runner_->clear();
    std::vector<const uint32_t*> tables;
    for (Sequence& sequence : sequences) {
      sequence.prepare(tokens);
      runner_->add(sequence.next_slice(tokens, 1, tables));
    }
    runner_->bind(program().view().logits, reinterpret_cast<float*>(logits_.data()));
    const auto round = [&] {
      runner_->run(nullptr);
      draw_tokens(sequences);
    };
    round();
    const uint64_t start = system_->now_ns();
    uint64_t num_rounds = 0;
    uint64_t elapsed_ns = 0;
    while (num_rounds == 0 || (elapsed_ns < kLeastNs && num_rounds < kMostRounds)) {
      round();
      ++num_rounds;
      elapsed_ns = system_->now_ns() - start;
    }
    return static_cast<double>(elapsed_ns) * 1e-9 / static_cast<double>(num_rounds);
  }

 private:
  static ModelProgram compiled(ProbeModel& probe, const ModelOptions& options) {
    std::unique_ptr<PlacedExecutable> executable = make_executable(probe.built.program, options);
    return make_model_program(ProgramRole::Trunk, 0, std::move(probe.built), std::move(executable));
  }
  [[nodiscard]] ThreadTeam& team() const { return program_.executable->device()->host().team(); }
  /// Draws in parallel, as the engine does.
  void draw_tokens(std::span<const Sequence> sequences) {
    while (samplers_.size() < sequences.size()) samplers_.emplace_back(system_);
    struct Draws {
      Probe* probe;
      std::span<const Sequence> sequences;
    } draws{this, sequences};
    Phases job;
    job.num_phases = 1;
    job.arg = &draws;
    job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t num_threads) noexcept {
      const auto& [probe, all] = *static_cast<const Draws*>(arg);
      for (size_t i = thread; i < all.size(); i += num_threads) probe->draw(i, all[i]);
    };
    team().run(job);
  }
  void draw(size_t number, const Sequence& sequence) noexcept {
    const auto* logits = reinterpret_cast<const float*>(logits_.data()) + number * vocab_;
    try {
      (void)samplers_[number].sample({logits, vocab_}, sequence.tokens(), sequence.size());
    } catch (...) {  // the drawn token does not matter
    }
  }

  [[nodiscard]] uint64_t affordable_bytes() const {
    return std::min(kProbeBytes, system_->available_memory() / 2);
  }

  /// A sequence whose first `depth` positions are filled in the cache. The source of an
  /// encoder-decoder is as long as its text, as memory plans assume.
  Sequence sequence_at(uint32_t depth, uint32_t tokens, uint32_t number) {
    Sequence sequence(pools_, depth + tokens);
    std::vector<Token> text(depth + tokens);
    for (uint32_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<Token>((uint64_t{i} * 7919 + number * 104729) % vocab_);
    }
    sequence.append(text);
    if (sequence.cross_table() != nullptr) sequence.set_source(text);
    if (depth == 0) return sequence;
    sequence.prepare(depth);
    sequence.commit(depth, sequence.size());
    for (const auto& table : sequence.tables()) {
      // A small normal number in every cache type. Untouched pages would all map to one zero page.
      const std::vector<std::byte> filled(table->pool().block_bytes(), std::byte{0x11});
      for (const uint32_t block : table->entries()) {
        if (block != BlockPool::kNoBlock) table->pool().write(block, filled.data());
      }
    }
    return sequence;
  }

  std::shared_ptr<System> system_;
  ProbeModel probe_;  // its program moves to program_
  uint64_t vocab_;
  ModelProgram program_;
  DeviceSlabs slabs_;
  std::vector<std::shared_ptr<BlockPool>> pools_;
  Buffer logits_;
  std::unique_ptr<ProgramRunner> runner_;
  std::deque<Sampler> samplers_;  // [sequences]
};

/// amount / seconds; 0 if the time was too short to measure.
double rate(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

ModelOptions probe_options(const Model& model) {
  ModelOptions options = runtime_options(model);
  options.slice = kMostSequences;
  return options;
}

}  // namespace

Hardware measure_memory(const Model& model) {
  const ModelOptions& options = model.options();
  Hardware hardware;
  hardware.threads = options.executor       ? options.executor->concurrency
                     : options.threads != 0 ? options.threads
                                            : num_allowed_cpus(*options.system);
  hardware.process_bytes = resident_memory();
  const uint64_t available = options.system->available_memory();
  hardware.memory_bytes = available + std::min(hardware.process_bytes, UINT64_MAX - available);
  return hardware;
}

Hardware measure_hardware(const Model& model) {
  Hardware hardware = measure_memory(model);
  Probe probe(model, probe_options(model));
  const StepWork work = step_work(probe.program());
  const double state_bytes = probe.cache_bytes_at(0);
  std::array<double, kNumDecodeSizes> decode{};  // seconds over all passes
  double deep = 0;
  double prompt = 0;
  double deep_prompt = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (uint32_t i = 0; i < kNumDecodeSizes; ++i) decode[i] += probe.step_seconds(1u << i, 1, 0);
    deep += probe.step_seconds(1, 1, kDepth);
    prompt += probe.step_seconds(1, kPromptTokens, 0);
    deep_prompt += probe.step_seconds(1, kPromptTokens, kDepth);
  }
  for (uint32_t i = 0; i < kNumDecodeSizes; ++i) {
    const double step_bytes = static_cast<double>(work.weight_bytes) + (1u << i) * state_bytes;
    hardware.decode_bytes_per_second[i] = rate(kPasses * step_bytes, decode[i]);
  }
  hardware.cache_bytes_per_second =
      rate(kPasses * (probe.cache_bytes_at(kDepth) - state_bytes), deep - decode[0]);
  hardware.prefill_multiplications_per_second =
      rate(kPasses * static_cast<double>(kPromptTokens * work.token_multiplications +
                                         work.output_multiplications),
           prompt);
  hardware.attention_multiplications_per_second =
      rate(kPasses * kPromptTokens * attention_multiplications(probe.program(), {kDepth, false}),
           deep_prompt - prompt);
  return hardware;
}

}  // namespace tenon
