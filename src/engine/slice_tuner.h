// How many tokens of prompts may go into a step so that it stays short beside decodes, or ends in a
// given time: running estimates from the times of the steps. What goes into a step is the scheduler's
// choice.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon {

/// Not thread-safe.
class SliceTuner {
 public:
  /// stretch: how many times as long as one without a prompt a step may take, more than 1.
  /// max_stall_ns: and how long at most; 0: any.
  SliceTuner(double stretch, uint32_t step_tokens, uint64_t max_stall_ns = 0)
      : stretch_(stretch),
        max_stall_ns_(static_cast<double>(max_stall_ns)),
        step_tokens_(step_tokens) {}

  /// A step was computed.
  void observe(uint32_t decode_tokens, uint32_t prompt_tokens, uint64_t ns) {
    const auto time = static_cast<double>(ns);
    if (prompt_tokens > 0) {
      const double of_prompts = decode_tokens == 0 ? time : time - decode_ns_;
      if (of_prompts > 0) latest_token_ns_ = of_prompts / prompt_tokens;
    }
    if (prompt_tokens == 0) {
      if (decode_tokens > 0) blend(decode_ns_, time);
    } else if (decode_tokens == 0) {
      // Alone a prompt runs at its best rate; short ones tell more about the fixed cost.
      if (prompt_tokens >= 32) blend(token_ns_, time / prompt_tokens);
    } else if (decode_ns_ > 0 && time > decode_ns_) {
      blend(token_ns_, (time - decode_ns_) / prompt_tokens);
    }
  }

  /// A step was stopped after so long, for it took longer than tokens_within() said. From now on
  /// that says half as many at most.
  void observe_overrun(uint32_t prompt_tokens, uint64_t ns) {
    const double at_least = static_cast<double>(ns) / std::max(prompt_tokens, 1u);
    latest_token_ns_ = 2 * std::max(latest_token_ns_, at_least);
  }

  /// Tokens of prompts that a step computes in so much time, alone or beside decodes; may be 0. By
  /// the latest step: a short one has more of the fixed cost for each token, so that steps grow to
  /// what fits.
  [[nodiscard]] uint32_t tokens_within(uint64_t ns, bool beside_decodes) const {
    if (latest_token_ns_ == 0) return std::min(kFirst, step_tokens_);
    const double left = kMargin * static_cast<double>(ns) - (beside_decodes ? decode_ns_ : 0);
    const double fits = std::clamp(left / latest_token_ns_, 0.0, 65536.0);
    return std::min(static_cast<uint32_t>(fits), step_tokens_);
  }

  /// Tokens of prompts that may go beside decodes.
  [[nodiscard]] uint32_t beside_tokens() const {
    if (decode_ns_ == 0 || token_ns_ == 0) return std::min(kFirst, step_tokens_);
    double left = (stretch_ - 1) * decode_ns_;
    if (max_stall_ns_ > 0) left = std::clamp(max_stall_ns_ - decode_ns_, 0.0, left);
    const double fits = left / token_ns_;
    return std::clamp(static_cast<uint32_t>(std::min(fits, 65536.0)),
                      std::min(kLeast, step_tokens_), step_tokens_);
  }

 private:
  /// Part of a time that is planned for: a step that overruns is computed in vain.
  static constexpr double kMargin = 0.75;
  static constexpr uint32_t kFirst = 16;  ///< before anything is known
  static constexpr uint32_t kLeast = 4;   ///< so that a prompt gets there in the end
  static void blend(double& value, double seen) {
    value = value == 0 ? seen : value + 0.2 * (seen - value);
  }

  double stretch_;
  double max_stall_ns_;
  uint32_t step_tokens_;
  double decode_ns_ = 0;        // of a step with decodes only
  double token_ns_ = 0;         // of a prompt's token
  double latest_token_ns_ = 0;  // the same in the latest step, however short
};

}  // namespace tenon
