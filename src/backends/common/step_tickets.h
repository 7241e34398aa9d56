// Tickets of steps and draws: checks their order and resolves tokens that a step names by output
// rows of the step before (tenon_step.after). Draws are the host's or a device's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi/failure.h"
#include "abi/strided.h"
#include "backends/common/host_draw.h"
#include "tenon/backend.h"

namespace tenon::backends {

class StepTickets {
 public:
  ///   most_steps  steps that may be under way
  explicit StepTickets(uint32_t most_steps = 1) : most_steps_(most_steps) {
    steps_.reserve(most_steps);
  }

  /// Begins a step. Returns it with its drawn tokens resolved (0 for tokens that only the device
  /// knows), valid until the next call; no last step exists until end_run(). Throws STATE if too
  /// many steps are not waited for, ARGUMENT if it names an undrawn token.
  tenon_step begin_run(const tenon_step& step) {
    if (steps_.size() >= most_steps_) {
      refuse(TENON_BACKEND_STATE, "run before step {} was waited for", steps_.front());
    }
    const tenon_step known = with_tokens(step);
    step_ = TENON_NO_TICKET;
    tokens_.clear();
    tokens_.reserve(step.num_outputs);
    return known;
  }
  /// Ends the run of a step with this many output rows, as begin_run() was given; returns its
  /// ticket. Does not throw: the device has begun.
  uint64_t end_run(uint32_t num_outputs) {
    tokens_.assign(num_outputs, kNotDrawn);
    steps_.push_back(++last_);
    return step_ = last_;
  }

  /// Throws ARGUMENT unless `step` is the last step and the draws can be made from its logits.
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
  /// Makes checked draws on the host; returns their ticket.
  ///   logits  [output rows, vocab] of the last step, f32 or f64
  template <typename Real>
  uint64_t draw(const Real* logits, uint64_t vocab, const Strided<tenon_draw>& draws) {
    for (uint32_t i = 0; i < draws.size(); ++i) {
      const tenon_draw& draw = draws[i];
      row_.assign(logits + draw.row * vocab, logits + (draw.row + 1) * vocab);
      host_draw_.run(draw, row_);
      if (draws_token(draw)) tokens_[draw.row] = draw.drawn->token;
    }
    return ++last_;
  }

  /// Returns a ticket for checked draws that the device makes; their tokens count as known. Some
  /// may have ended.
  uint64_t begin_draws(const Strided<tenon_draw>& draws) {
    for (uint32_t i = 0; i < draws.size(); ++i) {
      if (!draws_token(draws[i])) continue;
      int32_t& token = tokens_[draws[i].row];
      if (token == kNotDrawn) token = kOnDevice;
    }
    return ++last_;
  }
  /// Notes the token of an ended device draw.
  void set_drawn(uint64_t step, const tenon_draw& draw) {
    if (step == step_ && draws_token(draw)) tokens_[draw.row] = draw.drawn->token;
  }

  /// Takes tickets in order; throws ARGUMENT otherwise. Returns true for a step's ticket.
  bool wait(uint64_t ticket) {
    if (waited_ == last_ || ticket != waited_ + 1) {
      refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not the next to be waited for", ticket);
    }
    ++waited_;
    if (steps_.empty() || steps_.front() != ticket) return false;
    steps_.erase(steps_.begin());
    return true;
  }
  /// True if a ticket that is still to be waited for is a step's.
  [[nodiscard]] bool is_step(uint64_t ticket) const {
    if (ticket <= waited_ || ticket > last_) {
      refuse(TENON_BACKEND_ARGUMENT, "ticket {} is not one to be waited for", ticket);
    }
    return std::find(steps_.begin(), steps_.end(), ticket) != steps_.end();
  }

 private:
  static constexpr int32_t kNotDrawn = INT32_MIN;
  static constexpr int32_t kOnDevice = -2;  // drawn, but unknown to the host

  static bool draws_token(const tenon_draw& draw) {
    return draw.kind == TENON_DRAW_GREEDY || draw.kind == TENON_DRAW_DRAWN;
  }

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

  uint32_t most_steps_;
  std::vector<uint64_t> steps_;  // not waited for
  uint64_t last_ = 0;            // latest ticket of a step or a draw
  uint64_t waited_ = 0;
  uint64_t step_ = TENON_NO_TICKET;  // of the last step; TENON_NO_TICKET if it failed
  std::vector<int32_t> tokens_;      // drawn tokens, by output row of the last step
  std::vector<int32_t> named_;       // tokens of the running step, with drawn tokens resolved
  std::vector<float> row_;           // [vocab]
  HostDraw host_draw_;
};

}  // namespace tenon::backends
