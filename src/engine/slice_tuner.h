// Chooses how many prompt tokens go into a step so that it stays short beside decodes or ends
// within a given time. Keeps running estimates of step times.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon {

/// Not thread-safe.
class SliceTuner {
 public:
  /// stretch: longest step with prompts, in multiples of a step of decodes only; more than 1.
  /// max_stall_ns: longest step with prompts and decodes; 0 means no limit.
  SliceTuner(double stretch, uint32_t step_tokens, uint64_t max_stall_ns = 0)
      : stretch_(stretch),
        max_stall_ns_(static_cast<double>(max_stall_ns)),
        step_tokens_(step_tokens) {}

  /// Notes the time of a computed step.
  void observe(uint32_t decode_tokens, uint32_t prompt_tokens, uint64_t ns) {
    const auto time = static_cast<double>(ns);
    if (prompt_tokens > 0) {
      const double of_prompts = decode_tokens == 0 ? time : time - decode_ns_;
      if (of_prompts > 0) latest_token_ns_ = of_prompts / prompt_tokens;
    }
    if (prompt_tokens == 0) {
      if (decode_tokens > 0) blend(decode_ns_, time);
    } else if (decode_tokens == 0) {
      // A prompt alone runs at its best rate; short prompts mostly measure the fixed cost.
      if (prompt_tokens >= 32) blend(token_ns_, time / prompt_tokens);
    } else if (decode_ns_ > 0 && time > decode_ns_) {
      blend(token_ns_, (time - decode_ns_) / prompt_tokens);
    }
  }

  /// Notes a step stopped after `ns`, longer than tokens_within() allowed. Halves later answers of
  /// tokens_within(), at least.
  void observe_overrun(uint32_t prompt_tokens, uint64_t ns) {
    const double at_least = static_cast<double>(ns) / std::max(prompt_tokens, 1u);
    latest_token_ns_ = 2 * std::max(latest_token_ns_, at_least);
  }

  /// Prompt tokens that a step computes in `ns`, alone or beside decodes; may be 0. Estimated from
  /// the latest step. A short step has more fixed cost per token, so steps grow to the right size.
  [[nodiscard]] uint32_t tokens_within(uint64_t ns, bool beside_decodes) const {
    if (latest_token_ns_ == 0) return std::min(kFirst, step_tokens_);
    const double left = kMargin * static_cast<double>(ns) - (beside_decodes ? decode_ns_ : 0);
    const double fits = std::clamp(left / latest_token_ns_, 0.0, 65536.0);
    return std::min(static_cast<uint32_t>(fits), step_tokens_);
  }

  /// Time per prompt token in nanoseconds; 0 before any measurement.
  [[nodiscard]] double token_ns() const { return token_ns_; }

  /// Prompt tokens that may go beside decodes.
  [[nodiscard]] uint32_t beside_tokens() const {
    if (decode_ns_ == 0 || token_ns_ == 0) return std::min(kFirst, step_tokens_);
    double left = (stretch_ - 1) * decode_ns_;
    if (max_stall_ns_ > 0) left = std::clamp(max_stall_ns_ - decode_ns_, 0.0, left);
    const double fits = left / token_ns_;
    return std::clamp(static_cast<uint32_t>(std::min(fits, 65536.0)),
                      std::min(kLeast, step_tokens_), step_tokens_);
  }

 private:
  /// Planned part of the given time; a step that overruns is wasted work.
  static constexpr double kMargin = 0.75;
  static constexpr uint32_t kFirst = 16;  ///< before any measurement
  static constexpr uint32_t kLeast = 4;   ///< minimum progress of a prompt
  static void blend(double& value, double seen) {
    value = value == 0 ? seen : value + 0.2 * (seen - value);
  }

  double stretch_;
  double max_stall_ns_;
  uint32_t step_tokens_;
  double decode_ns_ = 0;        // time of a step with decodes only
  double token_ns_ = 0;         // time per prompt token
  double latest_token_ns_ = 0;  // time per prompt token in the latest step, however short
};

}  // namespace tenon
