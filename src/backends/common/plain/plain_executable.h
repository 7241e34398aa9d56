// Implements the executable of the plugin ABI: one step at a time, computed in `run`, draws from
// the last step's logits, and tickets.
#pragma once

#include <cstdint>

#include "abi/failure.h"
#include "abi/strided.h"
#include "backends/common/plain/plain_program.h"
#include "backends/common/plain/plain_step.h"
#include "backends/common/step_tickets.h"
#include "tenon/backend.h"

namespace tenon::plain {

template <typename Math>
class Executable {
 public:
  using Real = typename Math::Real;

  /// Copies the program. Throws UNSUPPORTED that names an operation that does not fit. `math` and
  /// the lists of the table must outlive the executable.
  Executable(const tenon_host* host, const tenon_program& program,
             const OperationTable<Math>& operations, const Math& math)
      : program_(host, program, operations), math_(math) {
    scratch_.places.resize(program_.view().max_tokens);
    scratch_.bound_values.resize(program_.num_slots());
  }

  [[nodiscard]] const tenon_host* host() const { return program_.host(); }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return program_.block_bytes(group); }
  /// Rows may be loaded in any number.
  [[nodiscard]] uint64_t row_granularity(uint32_t) const { return 1; }

  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes) {
    program_.load_rows(slot, first_row, num_rows, blocks, size_bytes);
  }
  void seal() {
    program_.check_loaded();
    sealed_ = true;
  }

  /// Runs a step to its end and returns its ticket. Throws STATE if the last step was not waited
  /// for.
  uint64_t run(const tenon_step& step) {
    if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run before seal");
    const tenon_step known = tickets_.begin_run(step);
    StepRun<Math>(program_, math_, known, scratch_).run();
    return tickets_.end_run(step.num_outputs);
  }

  /// Draws from the last step's logits; returns a ticket. Throws ARGUMENT.
  uint64_t draw(uint64_t step, const Strided<tenon_draw>& draws) {
    const uint32_t logits = program().logits;
    const uint64_t vocab = logits == TENON_NO_SLOT ? 0 : program_.slot(logits).columns;
    tickets_.check_draws(step, logits, vocab, draws);
    const auto* values = reinterpret_cast<const Real*>(scratch_.bound_values[logits].data());
    return tickets_.draw(values, vocab, draws);
  }

  void wait(uint64_t ticket) { (void)tickets_.wait(ticket); }

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const {
    return program_.memory_bytes(purpose) + scratch_.memory_bytes(purpose);
  }

 private:
  LoadedProgram<Math> program_;
  const Math& math_;
  StepScratch scratch_;
  bool sealed_ = false;
  backends::StepTickets tickets_;  ///< the logits of the last step are in scratch_
};

}  // namespace tenon::plain
