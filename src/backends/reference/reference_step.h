// One step while it runs: rows of activations, decoded weights, the KV cache, and the host's
// threads, as the operations of this backend see them.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/common/failure.h"
#include "backends/common/sizes.h"
#include "backends/reference/reference_executable.h"
#include "tenon/backend.h"

namespace tenon::reference {

/// Activations [rows, columns] in f64. Everything here computes in f64, whatever the slots say, so
/// that the result is the real number up to the rounding of weights, cache and logits.
using Matrix = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

/// Valid during one run of an executable.
class StepRun {
 public:
  /// Checks the step against the program (ARGUMENT). `scratch` outlives the step and only grows.
  StepRun(const Executable& executable, const tenon_step& step, StepScratch& scratch);

  /// Runs every operation; CANCELLED when the flag of the step is set before one of them. Then
  /// rounds the results to where they are bound.
  void run();

  [[nodiscard]] const tenon_step& step() const { return step_; }
  /// Rows of an activation slot in this step: T, R or S.
  [[nodiscard]] uint32_t num_rows(uint32_t slot) const;
  /// The values of an activation slot, [T, R or S, columns].
  [[nodiscard]] Matrix activation(uint32_t slot) const;

  [[nodiscard]] const tenon_slot& slot(uint32_t slot) const { return executable_.slot(slot); }
  /// Decodes row `row` of a weight into out [columns].
  void weight_row(uint32_t slot, uint64_t row, double* out) const noexcept;
  /// A weight vector; empty when the slot is absent.
  [[nodiscard]] std::vector<double> weight_vector(uint32_t slot) const;
  /// All rows of a weight, one after the other; empty when the slot is absent.
  [[nodiscard]] std::vector<double> weight_rows(uint32_t slot) const;
  [[nodiscard]] std::span<const double> constant(uint32_t slot) const {
    return executable_.constant(slot);
  }

  /// A part of the position of a token.
  [[nodiscard]] int32_t position(Eigen::Index token, uint32_t part = 0) const {
    return step_
        .positions[static_cast<uint64_t>(token) * executable_.program().position_parts + part];
  }
  [[nodiscard]] const TokenPlace& place(uint32_t token) const { return scratch_.places[token]; }
  /// Address of the keys of all heads of layer `layer` at `position` of a sequence; the values
  /// follow.
  [[nodiscard]] std::byte* cache_row(const tenon_step_sequence& sequence, uint32_t group,
                                     uint32_t layer, uint32_t position) const noexcept;
  /// The part of a state that belongs to an operation, in the block that the sequence writes: what
  /// it was before the step, or zeros.
  [[nodiscard]] float* begin_state(const tenon_step_sequence& sequence,
                                   const tenon_state_params& state,
                                   uint64_t num_values) const noexcept;
  [[nodiscard]] const tenon_cache_group& group(uint32_t group) const {
    return executable_.group(group);
  }

  /// Calls body(index, scratch) once for every index below `count`, on the threads of the host.
  ///   scratch  `num_values` doubles of the calling thread
  /// Every index is computed alone, so the threads change no bit.
  template <typename Body>
  void for_each(uint64_t count, uint64_t num_values, const Body& body);

 private:
  [[nodiscard]] std::byte* block_address(uint32_t group, uint32_t block) const noexcept;
  void place_tokens();
  void reserve_bound();
  void read_input(uint32_t slot) const;
  void write_result(uint32_t slot) const;
  [[nodiscard]] bool cancelled() const;

  const Executable& executable_;
  const tenon_step& step_;
  StepScratch& scratch_;
};

template <typename Body>
void StepRun::for_each(uint64_t count, uint64_t num_values, const Body& body) {
  struct Job {
    const Body* body;
    uint64_t count;
    uint64_t num_values;
    double* scratch;
  };
  if (count == 0) return;
  const tenon_host* host = executable_.host();
  scratch_.reserve_values(host, backends::multiply(host->num_threads(host->user), num_values, "scratch"));
  Job job{&body, count, num_values, scratch_.values()};
  tenon_parallel_job parallel{};
  parallel.struct_size = sizeof(parallel);
  parallel.num_phases = 1;
  parallel.arg = &job;
  parallel.run = [](void* arg, uint32_t, uint32_t thread, uint32_t num_threads) {
    const Job& mine = *static_cast<const Job*>(arg);
    double* scratch = mine.scratch + thread * mine.num_values;
    for (uint64_t i = thread; i < mine.count; i += num_threads) (*mine.body)(i, scratch);
  };
  const int32_t stopped = host->parallel(host->user, &parallel);
  if (stopped != 0) backends::fail_as_host(stopped);
}

}  // namespace tenon::reference
