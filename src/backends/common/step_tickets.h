// Tickets of steps and draws, for a backend that has one step under way and whose draws the host makes: which call
// is in order, and the tokens that a step names by the output rows of the step before it (tenon_step.after).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/common/failure.h"
#include "backends/common/host_draw.h"
#include "backends/common/strided.h"
#include "tenon/backend.h"

namespace tenon::backends {

class StepTickets {
 public:
  /// The step to be run, with the tokens that it names, which are valid until the next call; until end_run() there is
  /// no last step. Throws STATE when the last one was not waited for, ARGUMENT where it names what was not drawn.
  tenon_step begin_run(const tenon_step& step) {
    if (step_ > waited_) refuse(TENON_BACKEND_STATE, "run before the last step was waited for");
    const tenon_step known = with_tokens(step);
    step_ = TENON_NO_TICKET;
    tokens_.clear();
    return known;
  }
  /// It has so many output rows. Its ticket.
  uint64_t end_run(uint32_t num_outputs) {
    tokens_.assign(num_outputs, kNotDrawn);
    return step_ = ++last_;
  }

  /// Throws ARGUMENT unless `step` is the last one and such draws can be made from its logits.
  ///   logits  slot of the program, or TENON_NO_SLOT
  void check_draws(uint64_t step, uint32_t logits, uint64_t vocab,
                   const Strided<tenon_draw>& draws) const {
    if (step == TENON_NO_TICKET || step != step_ || logits == TENON_NO_SLOT) {
      refuse(TENON_BACKEND_ARGUMENT, "draw: {} is not the last step, or it has no logits", step);
    }
    for (uint32_t i = 0; i < draws.size(); ++i) {
      check_draw(draws[i], static_cast<uint32_t>(tokens_.size()), vocab);
    }
  }
  /// Makes draws that were checked; returns their ticket.
  ///   logits  [output rows, vocab] of the last step, f32 or f64
  template <typename Real>
  uint64_t draw(const Real* logits, uint64_t vocab, const Strided<tenon_draw>& draws) {
    for (uint32_t i = 0; i < draws.size(); ++i) {
      const tenon_draw& draw = draws[i];
      row_.assign(logits + draw.row * vocab, logits + (draw.row + 1) * vocab);
      host_draw_.run(draw, row_);
      set_drawn(draw);
    }
    return begin_draws();
  }

  /// The ticket of draws that were checked and that the device makes; it says what they came to before the next run.
  uint64_t begin_draws() { return ++last_; }
  /// Notes the token of a draw that has ended: a later step may name it.
  void set_drawn(const tenon_draw& draw) {
    const bool is_token = draw.kind == TENON_DRAW_GREEDY || draw.kind == TENON_DRAW_DRAWN;
    if (is_token) tokens_[draw.row] = draw.drawn->token;
  }

  /// Takes tickets in the order in which they were given, else throws ARGUMENT. Whether it is the last step's: a draw
  /// has ended.
  bool wait(uint64_t ticket) {
    if (waited_ == last_ || ticket != waited_ + 1) {
      refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not the next to be waited for", ticket);
    }
    ++waited_;
    return ticket == step_;
  }
  /// The same of one that is to be waited for later.
  [[nodiscard]] bool is_step(uint64_t ticket) const {
    if (ticket <= waited_ || ticket > last_) {
      refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not one to be waited for", ticket);
    }
    return ticket == step_;
  }

 private:
  static constexpr int32_t kNotDrawn = INT32_MIN;

  tenon_step with_tokens(const tenon_step& step) {
    tenon_step known = step;
    if (step.after == TENON_NO_TICKET || step.tokens == nullptr) return known;
    if (step.after != step_) {
      refuse(TENON_BACKEND_ARGUMENT, "step: after {}, not the last one", step.after);
    }
    named_.assign(step.tokens, step.tokens + step.num_tokens);
    for (int32_t& token : named_) {
      if (token >= 0) continue;
      const auto row = static_cast<uint32_t>(-1 - token);
      if (row >= tokens_.size() || tokens_[row] == kNotDrawn) {
        refuse(TENON_BACKEND_ARGUMENT, "step: nothing was drawn for output row {} of {}", row,
               tokens_.size());
      }
      token = std::max(tokens_[row], 0);
    }
    known.tokens = named_.data();
    return known;
  }

  uint64_t last_ = 0;  // of a step or a draw
  uint64_t waited_ = 0;
  uint64_t step_ = TENON_NO_TICKET;  // of the last step, unless it failed
  std::vector<int32_t> tokens_;      // drawn, by output row of the last step
  std::vector<int32_t> named_;       // of the step under way, drawn ones in their places
  std::vector<float> row_;           // [vocab]
  HostDraw host_draw_;
};

}  // namespace tenon::backends
