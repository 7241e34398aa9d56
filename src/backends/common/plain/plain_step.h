// A running step: activation rows, decoded weights, the cache and the host's threads, for
// operations.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <vector>

#include "abi/cache_rows.h"
#include "abi/cancel_flag.h"
#include "abi/failure.h"
#include "abi/host_buffer.h"
#include "abi/ngram_hash.h"
#include "abi/sizes.h"
#include "abi/step_rules.h"
#include "backends/common/plain/plain_program.h"
#include "backends/common/plain/plain_table.h"
#include "tenon/backend.h"

namespace tenon::plain {

/// Activations [rows, columns] in the type of the arithmetic; with f64, results are exact up to the
/// rounding of weights, cache and logits.
template <typename Real>
using Matrix = Eigen::Map<Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
template <typename Real>
using ConstVector = Eigen::Map<const Eigen::Matrix<Real, Eigen::Dynamic, 1>>;

/// Position of a token of a step.
struct TokenPlace {
  const tenon_step_sequence* sequence = nullptr;
  uint32_t position = 0;  ///< within its sequence
};

/// A list of one operation, in memory that later operations use again.
template <typename T>
using StepVector = std::pmr::vector<T>;

/// Memory reused across steps: once the largest step has run, steps allocate nothing.
struct StepScratch {
  std::vector<TokenPlace> places;                ///< [max_tokens]
  HostMemory thread_values;                      ///< per thread of one operation
  HostMemory shared_values;                      ///< shared by all threads of one operation
  std::vector<HostMemory> bound_values;          ///< [slots] inputs and results [rows, columns]
  std::pmr::unsynchronized_pool_resource lists;  ///< of StepVectors

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const {
    if (purpose != TENON_MEMORY_SCRATCH) return 0;
    uint64_t bytes = thread_values.size() + shared_values.size();
    for (const HostMemory& bound : bound_values) bytes += bound.size();
    return bytes;
  }
};

/// Grows `memory` to at least `bytes`; growing loses the contents. Adds half of the size from the
/// second time on, up to `most` bytes: some operations need more with each position of a text.
inline void reserve(HostMemory& memory, const tenon_host* host, uint64_t bytes, const char* what,
                    uint64_t most = UINT64_MAX) {
  if (bytes <= memory.size()) return;
  const uint64_t taken =
      memory.size() == 0 ? bytes : std::min(most, backends::add(bytes, bytes / 2, what));
  memory = HostMemory();
  memory = HostMemory(host, taken, TENON_MEMORY_SCRATCH, what);
}

/// Owner of a program's weights and activations. A backend with its own storage specialises it,
/// with the functions of LoadedProgram that StepRun calls.
template <typename Math>
struct ProgramOf {
  using Type = LoadedProgram<Math>;
};

/// Valid during one run of an executable.
template <typename Math>
class StepRun {
 public:
  using Real = typename Math::Real;
  using Program = typename ProgramOf<Math>::Type;

  /// Checks the step against the program (ARGUMENT). `scratch` must outlive the step; it only
  /// grows.
  StepRun(const Program& program, const Math& math, const tenon_step& step, StepScratch& scratch)
      : program_(program), math_(math), step_(step), scratch_(scratch) {
    backends::check_step(program_.copy(), step, program_.block_bytes(), true);
    place_tokens();
    reserve_bound();
  }
  /// Takes a checked step, for run(op) only, and a program that holds the memory of bound slots
  /// itself.
  struct Checked {};
  StepRun(const Program& program, const Math& math, const tenon_step& step, StepScratch& scratch,
          Checked)
      : program_(program), math_(math), step_(step), scratch_(scratch) {
    place_tokens();
  }

  /// Runs every operation and rounds the results to their bindings. Throws CANCELLED if the step's
  /// flag is set before or during an operation.
  void run() {
    for (uint32_t i = 0; i < program_.num_slots(); ++i) {
      if (slot(i).kind == TENON_SLOT_INPUT) read_input(i);
    }
    for (const tenon_op& op : program_.copy().ops()) run(op);
    for (const uint32_t result : program_.copy().results()) write_result(result);
  }

  /// Runs one operation of the program. Throws CANCELLED as run().
  void run(const tenon_op& op) {
    check_cancelled();
    program_.operations().find(op.kind)->run(*this, op);
  }

  /// Arithmetic of the backend.
  [[nodiscard]] const Math& math() const { return math_; }
  [[nodiscard]] const tenon_step& step() const { return step_; }
  /// Rows of an activation slot in this step: T, R or S.
  [[nodiscard]] uint32_t num_rows(uint32_t slot_number) const {
    return backends::num_rows(step_, slot(slot_number).row_class);
  }
  /// Values of an activation slot, [T, R or S, columns].
  [[nodiscard]] Matrix<Real> activation(uint32_t slot_number) const {
    Real* values = program_.is_bound(slot_number)
                       ? reinterpret_cast<Real*>(scratch_.bound_values[slot_number].data())
                       : program_.activation(slot_number);
    return {values, static_cast<Eigen::Index>(num_rows(slot_number)),
            static_cast<Eigen::Index>(slot(slot_number).columns)};
  }

  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return program_.slot(slot); }
  /// Blocks of a weight from row `row` on.
  [[nodiscard]] const std::byte* weight_blocks(uint32_t slot_number, uint64_t row) const noexcept {
    return program_.weight_blocks(slot_number, row);
  }
  /// Decodes row `row` of a weight into out [columns].
  void weight_row(uint32_t slot_number, uint64_t row, Real* out) const noexcept {
    program_.weight_row(slot_number, row, out);
  }
  /// A weight vector; empty for an absent slot.
  [[nodiscard]] StepVector<Real> weight_vector(uint32_t slot_number) const {
    if (slot_number == TENON_NO_SLOT) return list<Real>();
    auto values = list<Real>(slot(slot_number).columns);
    weight_row(slot_number, 0, values.data());
    return values;
  }
  /// All rows of a weight, concatenated; empty for an absent slot.
  [[nodiscard]] StepVector<Real> weight_rows(uint32_t slot_number) const {
    if (slot_number == TENON_NO_SLOT) return list<Real>();
    const tenon_slot& info = slot(slot_number);
    auto values = list<Real>(info.rows * info.columns);
    for (uint64_t row = 0; row < info.rows; ++row) {
      weight_row(slot_number, row, values.data() + row * info.columns);
    }
    return values;
  }
  [[nodiscard]] std::span<const double> constant(uint32_t slot) const {
    return program_.copy().constant(slot);
  }

  [[nodiscard]] std::span<const int64_t> integers(uint32_t slot) const {
    return program_.copy().integers(slot);
  }

  [[nodiscard]] backends::NgramNumbers ngram_numbers(const tenon_op& op) const {
    return backends::ngram_numbers(program_.copy(), op);
  }
  [[nodiscard]] uint32_t token_history() const { return program_.view().token_history; }
  /// A part of a token's position.
  [[nodiscard]] int32_t position(Eigen::Index token, uint32_t part = 0) const {
    return step_.positions[static_cast<uint64_t>(token) * program_.view().position_parts + part];
  }
  [[nodiscard]] const TokenPlace& place(uint32_t token) const { return scratch_.places[token]; }
  /// Address of the keys of all heads of `layer` at `position`, which must have a row; the values
  /// follow.
  [[nodiscard]] std::byte* cache_row(const tenon_step_sequence& sequence, uint32_t group_number,
                                     uint32_t layer, uint32_t position) const noexcept {
    const tenon_cache_group& info = group(group_number);
    const backends::CacheRow at = backends::cache_row_of(info, position);
    const uint32_t block = sequence.block_tables[group_number][at.block];
    const uint64_t rows = backends::rows_of_block(info);
    const uint64_t row_bytes = program_.block_bytes(group_number) / (info.layers * rows);
    return block_address(group_number, block) + (layer * rows + at.slot) * row_bytes;
  }
  /// An operation's part of a state, in the block that the sequence writes. Initialised with the
  /// state before the step, or zeros.
  [[nodiscard]] float* begin_state(const tenon_step_sequence& sequence,
                                   const tenon_state_params& state,
                                   uint64_t num_values) const noexcept {
    const backends::StateBlocks blocks = backends::state_blocks(sequence, state.group);
    const uint64_t first = state.layer * program_.state_layer_values(state.group) + state.offset;
    const auto values_of = [&](uint32_t block) {
      return reinterpret_cast<float*>(block_address(state.group, block)) + first;
    };
    float* values = values_of(blocks.write);
    if (blocks.read == TENON_NO_BLOCK) {
      std::fill_n(values, num_values, 0.0f);
    } else if (blocks.read != blocks.write) {
      std::copy_n(values_of(blocks.read), num_values, values);
    }
    return values;
  }
  [[nodiscard]] const tenon_cache_group& group(uint32_t group) const {
    return program_.group(group);
  }

  /// A list of `count` values, for the thread that runs the step.
  template <typename T>
  [[nodiscard]] StepVector<T> list(uint64_t count = 0, T value = {}) const {
    return StepVector<T>(count, value, &scratch_.lists);
  }
  /// Memory of such lists.
  [[nodiscard]] std::pmr::memory_resource* lists() const { return &scratch_.lists; }

  /// Room for `count` values, valid until the next call.
  [[nodiscard]] Real* shared_values(uint64_t count) {
    reserve(scratch_.shared_values, program_.host(),
            backends::multiply(count, sizeof(Real), "scratch"), "scratch");
    return reinterpret_cast<Real*>(scratch_.shared_values.data());
  }

  /// Calls body(index, scratch) for each index below `count`, on the host's threads. Each index is
  /// computed independently, so threads change no bit. Throws CANCELLED if the step was cancelled
  /// meanwhile.
  ///   scratch  `num_values` values of the calling thread
  template <typename Body>
  void for_each(uint64_t count, uint64_t num_values, const Body& body) {
    struct Job {
      const StepRun* step;
      const Body* body;
      uint64_t count;
      uint64_t num_values;
      Real* scratch;
    };
    if (count == 0) return;
    const tenon_host* host = program_.host();
    const uint64_t num_all =
        backends::multiply(host->num_threads(host->user), num_values, "scratch");
    reserve(scratch_.thread_values, host, backends::multiply(num_all, sizeof(Real), "scratch"),
            "scratch");
    auto* scratch = reinterpret_cast<Real*>(scratch_.thread_values.data());
    Job job{this, &body, count, num_values, scratch};
    tenon_parallel_job parallel{};
    parallel.struct_size = sizeof(parallel);
    parallel.num_phases = 1;
    parallel.arg = &job;
    parallel.run = [](void* arg, uint32_t, uint32_t thread, uint32_t team) {
      const Job& mine = *static_cast<const Job*>(arg);
      Real* values = mine.scratch + thread * mine.num_values;
      for (uint64_t i = thread; i < mine.count && !mine.step->cancelled(); i += team) {
        (*mine.body)(i, values);
      }
    };
    const int32_t stopped = host->parallel(host->user, &parallel);
    if (stopped != 0) backends::fail_as_host(stopped);
    check_cancelled();
  }

 private:
  [[nodiscard]] bool cancelled() const noexcept { return is_set(step_.cancel); }
  void check_cancelled() const {
    if (cancelled()) backends::refuse(TENON_BACKEND_CANCELLED, "cancelled");
  }

  [[nodiscard]] std::byte* block_address(uint32_t group_number, uint32_t block) const noexcept {
    const tenon_cache_pool& pool = step_.pools[group_number];
    const backends::HostBuffer* slab =
        backends::host_buffer(pool.slabs[block / pool.blocks_per_slab]);
    return slab->memory.data() +
           (block % pool.blocks_per_slab) * program_.block_bytes(group_number);
  }

  void place_tokens() {
    const Strided<tenon_step_sequence> sequences = sequences_of(step_);
    for (uint32_t s = 0; s < sequences.size(); ++s) {
      const tenon_step_sequence& sequence = sequences[s];
      for (uint32_t i = 0; i < sequence.num_tokens; ++i) {
        scratch_.places[sequence.first_token + i] = {&sequence, sequence.past + i};
      }
    }
  }

  void reserve_bound() {
    for (const uint32_t i : program_.copy().bound()) {
      const char* name = slot(i).name;
      const uint64_t row = backends::multiply(slot(i).columns, sizeof(Real), name);
      const uint64_t most = backends::max_rows(program_.copy().view(), slot(i).row_class);
      reserve(scratch_.bound_values[i], program_.host(), backends::multiply(num_rows(i), row, name),
              name, backends::multiply(most, row, name));
    }
  }

  void read_input(uint32_t number) const {
    auto values = activation(number);
    const auto* from = static_cast<const float*>(backends::bound_memory(step_, number));
    std::copy_n(from, values.size(), values.data());
  }

  void write_result(uint32_t number) const {
    const auto values = activation(number);
    void* to = backends::bound_memory(step_, number);
    if (to == nullptr) return;  // logits used only for draws
    const auto write = [&](auto* typed) {
      for (Eigen::Index i = 0; i < values.size(); ++i) {
        typed[i] = static_cast<std::remove_pointer_t<decltype(typed)>>(values.data()[i]);
      }
    };
    if (slot(number).type == TENON_TYPE_I32) {
      write(static_cast<int32_t*>(to));
    } else {
      write(static_cast<float*>(to));
    }
  }

  const Program& program_;
  const Math& math_;
  const tenon_step& step_;
  StepScratch& scratch_;
};

}  // namespace tenon::plain
