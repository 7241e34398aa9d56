// What the functions of the plugin ABI ask of an executable: steps one at a time, each computed in
// `run`, draws from the logits of the last one, and tickets.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/common/drawn_tokens.h"
#include "backends/common/failure.h"
#include "backends/common/host_draw.h"
#include "backends/common/plain/plain_program.h"
#include "backends/common/plain/plain_step.h"
#include "backends/common/strided.h"
#include "tenon/backend.h"

namespace tenon::plain {

template <typename Math>
class Executable {
 public:
  using Real = typename Math::Real;

  /// Copies the program; throws UNSUPPORTED naming an operation that does not fit. `math` and what the
  /// table points to outlive this.
  Executable(const tenon_host* host, const tenon_program& program,
             const OperationTable<Math>& operations, const Math& math)
      : program_(host, program, operations), math_(math) {
    scratch_.places.resize(program_.view().max_tokens);
    scratch_.bound_values.resize(program_.num_slots());
  }

  [[nodiscard]] const tenon_host* host() const { return program_.host(); }
  [[nodiscard]] const tenon_program& program() const { return program_.view(); }
  [[nodiscard]] uint64_t block_bytes(uint32_t group) const { return program_.block_bytes(group); }
  /// Any rows may be loaded at once.
  [[nodiscard]] uint64_t row_granularity(uint32_t) const { return 1; }

  void load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows, const void* blocks,
                 uint64_t size_bytes) {
    if (sealed_) backends::refuse(TENON_BACKEND_STATE, "load_rows after seal");
    program_.load_rows(slot, first_row, num_rows, blocks, size_bytes);
  }
  void seal() {
    program_.check_loaded();
    sealed_ = true;
  }

  /// Runs a step to its end; returns its ticket. Throws STATE when the last one was not waited for.
  uint64_t run(const tenon_step& step) {
    if (!sealed_) backends::refuse(TENON_BACKEND_STATE, "run before seal");
    if (step_ticket_ > waited_ticket_) {
      backends::refuse(TENON_BACKEND_STATE, "run before the last step was waited for");
    }
    const tenon_step known = drawn_.with_tokens(step, step_ticket_);
    step_ticket_ = TENON_NO_TICKET;
    StepRun<Math>(program_, math_, known, scratch_).run();
    drawn_.begin_step(step.num_outputs);
    return step_ticket_ = ++last_ticket_;
  }

  /// Draws from the logits of the last step; returns a ticket. Throws ARGUMENT.
  uint64_t draw(uint64_t step, const Strided<tenon_draw>& draws) {
    const uint32_t logits = program().logits;
    if (step == TENON_NO_TICKET || step != step_ticket_ || logits == TENON_NO_SLOT) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "draw: {} is not the last step, or it has no logits",
                       step);
    }
    const uint64_t vocab = program_.slot(logits).columns;
    for (uint32_t i = 0; i < draws.size(); ++i) {
      backends::check_draw(draws[i], drawn_.num_rows(), vocab);
    }
    const auto* values = reinterpret_cast<const Real*>(scratch_.bound_values[logits].data());
    for (uint32_t i = 0; i < draws.size(); ++i) {
      const tenon_draw& draw = draws[i];
      row_.assign(values + draw.row * vocab, values + (draw.row + 1) * vocab);
      host_draw_.run(draw, row_);
      drawn_.note(draw);
    }
    return ++last_ticket_;
  }

  void wait(uint64_t ticket) {
    if (waited_ticket_ == last_ticket_ || ticket != waited_ticket_ + 1) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not the next to be waited for",
                       ticket);
    }
    ++waited_ticket_;
  }

  [[nodiscard]] uint64_t memory_bytes(uint32_t purpose) const {
    return program_.memory_bytes(purpose) + scratch_.memory_bytes(purpose);
  }

 private:
  LoadedProgram<Math> program_;
  const Math& math_;
  StepScratch scratch_;
  bool sealed_ = false;
  uint64_t last_ticket_ = 0;  ///< of a step or a draw
  uint64_t waited_ticket_ = 0;
  uint64_t step_ticket_ = TENON_NO_TICKET;  ///< of the last step, unless it failed
  // Draws: the logits of the last step are in scratch_.
  backends::DrawnTokens drawn_;
  std::vector<float> row_;  ///< [vocab]
  backends::HostDraw host_draw_;
};

}  // namespace tenon::plain
