// The tokens that a step names by the output rows of the step before it (tenon_step.after), for a backend
// whose draws have ended when the next step is run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backends/common/failure.h"
#include "tenon/backend.h"

namespace tenon::backends {

class DrawnTokens {
 public:
  /// A step with so many output rows was run; nothing is drawn yet.
  void begin_step(uint32_t num_rows) { tokens_.assign(num_rows, kNotDrawn); }
  /// The last step failed.
  void forget() { tokens_.clear(); }
  [[nodiscard]] uint32_t num_rows() const { return static_cast<uint32_t>(tokens_.size()); }
  /// A draw has ended; those that draw no token say nothing.
  void note(const tenon_draw& draw) {
    const bool is_token = draw.kind == TENON_DRAW_GREEDY || draw.kind == TENON_DRAW_DRAWN;
    if (is_token) tokens_[draw.row] = draw.drawn->token;
  }

  /// The step with the tokens that it names, which are valid until the next call. ARGUMENT where it names what
  /// was not drawn.
  ///   last  ticket of the step before
  tenon_step with_tokens(const tenon_step& step, uint64_t last) {
    tenon_step known = step;
    if (step.after == TENON_NO_TICKET || step.tokens == nullptr) return known;
    if (step.after != last) {
      refuse(TENON_BACKEND_ARGUMENT, "step: after {}, not the last one", step.after);
    }
    named_.assign(step.tokens, step.tokens + step.num_tokens);
    for (int32_t& token : named_) {
      if (token >= 0) continue;
      const auto row = static_cast<uint32_t>(-1 - token);
      if (row >= num_rows() || tokens_[row] == kNotDrawn) {
        refuse(TENON_BACKEND_ARGUMENT, "step: nothing was drawn for output row {} of {}", row,
               num_rows());
      }
      token = std::max(tokens_[row], 0);
    }
    known.tokens = named_.data();
    return known;
  }

 private:
  static constexpr int32_t kNotDrawn = INT32_MIN;

  std::vector<int32_t> tokens_;  // by output row
  std::vector<int32_t> named_;   // of the step under way, drawn ones in their places
};

}  // namespace tenon::backends
