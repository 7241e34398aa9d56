// Runs programs with random weights on a backend, step by step, with its own KV memory. Does not
// judge results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/strided.h"
#include "backend/device_buffer.h"
#include "backend/executable.h"
#include "program/operations.h"
#include "tests/conformance/target.h"

namespace tenon::conformance {

/// A step's tokens of a sequence.
struct Part {
  uint32_t sequence;
  std::vector<int32_t> tokens;
};

/// A step: tokens of several sequences.
struct StepPlan {
  std::vector<Part> parts;
  /// Rows whose logits are wanted; empty: all, in order.
  std::optional<std::vector<uint32_t>> rows = {};
  /// [T, position_parts]; empty: positions in the sequences, equal for all parts.
  std::optional<std::vector<int32_t>> positions = {};
  /// Values of the program's inputs, in the order of their slots.
  std::vector<std::vector<float>> inputs = {};
  const uint32_t* cancel = nullptr;
};

/// `count` tokens 0, 1, ... modulo `vocab`.
std::vector<int32_t> tokens(uint32_t count, uint32_t vocab, uint32_t first = 0);
/// `count` tokens below kVocab in an order that no multiple of 16 positions repeats early.
std::vector<int32_t> mixed_tokens(uint32_t count, uint32_t seed = 0);
/// A step of one sequence with tokens 0..count-1.
StepPlan one_sequence(uint32_t count, uint32_t vocab);

/// Defaults of most programs: a vocabulary of more than a word of bits, rows whose width is no
/// power of two, and steps of up to 65 tokens.
inline constexpr uint32_t kVocab = 67;
inline constexpr uint64_t kWidth = 96;
inline constexpr StepLimits kLimits{65, 70};
/// Steps of no, few and many tokens.
std::vector<StepPlan> all_counts();

/// Standard normal values that depend on `name` only.
std::vector<float> random_values(std::string_view name, uint64_t count);
/// Random rows of a weight slot as blocks of its format, equal for all backends. Vectors and slots
/// named "table..." are standard normal; the others are smaller by about sqrt(columns), so that x
/// W^T has the size of x.
std::vector<std::byte> random_blocks(const tenon_slot& slot);

class Runner;

/// Options besides the program.
struct RunnerOptions {
  Host host;
  uint32_t max_positions = 128;  ///< of all sequences together, per KV group
  /// Runner to share the device of, whose group 0 the CROSS group of this runner reads, sequence by
  /// sequence. Outlives the runner.
  Runner* encoder = nullptr;
  bool verify = true;        ///< false: steps refused by verify_step still reach the backend
  bool copy_states = false;  ///< a step writes a different block of a state than it reads
};

/// A program compiled and loaded on a device; sequences grow from step to step.
class Runner {
 public:
  Runner(const Target& target, const tenon_program& program, const RunnerOptions& options = {});
  Runner(const Target& target, const Program& program, const RunnerOptions& options = {})
      : Runner(target, program.view(), options) {}
  /// The program must outlive the runner.
  Runner(const Target&, Program&&, const RunnerOptions& = {}) = delete;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Runs a step; returns all results, concatenated (of most programs only the logits, [R, vocab]).
  /// Throws the backend's errors; the sequences then stay unchanged.
  std::vector<float> run(const StepPlan& plan);
  /// Removes the last positions of a sequence.
  void rewind(uint32_t sequence, uint32_t past) { sequences_[sequence].past = past; }
  /// Starts sequence `to` with copies of the states of `from`. Requires a program with STATE groups
  /// only.
  void fork(uint32_t from, uint32_t to);
  [[nodiscard]] Executable& executable() { return *executable_; }

 private:
  struct Sequence {
    uint32_t past = 0;
    std::vector<int32_t> text;                  // at least `past` tokens
    std::vector<std::vector<uint32_t>> blocks;  // [groups][...], as in tenon_step_sequence
  };
  struct Pool {
    std::vector<DeviceBuffer> buffers;
    std::vector<tenon_buffer*> slabs;  // of buffers
    std::vector<uint32_t> free;        // block numbers
  };

  void load_weights();
  void make_pools(uint32_t max_positions);
  void grow(Sequence& sequence, uint32_t positions);
  [[nodiscard]] bool is_of_encoder(uint32_t group) const {
    return encoder_ != nullptr && groups_[group].kind == TENON_CACHE_CROSS;
  }
  [[nodiscard]] uint32_t take_block(uint32_t group);
  void place_state(Sequence& sequence, uint32_t group);
  void keep_state(Sequence& sequence, uint32_t group);

  const tenon_program program_;
  const Strided<tenon_slot> slots_;
  const Strided<tenon_cache_group> groups_;
  Runner* const encoder_;
  const bool verify_;
  const std::shared_ptr<Device> device_;
  std::unique_ptr<Executable> executable_;
  std::vector<Pool> pools_;
  bool copy_states_;
  std::map<uint32_t, Sequence> sequences_;
};

/// Relative RMSE over all added values: sqrt(sum (result - expected)^2 / sum expected^2). Infinite
/// for unequal sizes, NaN, or nonzero results where all expected values are zero. Covers all steps
/// of a case, since a single value near zero is not significant.
class Deviation {
 public:
  void add(std::span<const float> result, std::span<const float> expected);
  [[nodiscard]] double relative_rmse() const;

 private:
  double difference_ = 0;
  double size_ = 0;
};

/// Runs the steps on the tested backend and on the reference; expects logits within `tolerance`
/// (relative RMSE over all steps). The worst value of a test becomes a property of it
/// (--gtest_output=xml shows it).
void expect_like_reference(const Program& program, std::span<const StepPlan> steps,
                           double tolerance, const RunnerOptions& options = {});

}  // namespace tenon::conformance
