// Draws from a row of logits in host memory, as defined by tenon_draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "abi/failure.h"
#include "abi/philox.h"
#include "tenon/backend.h"

namespace tenon::backends {

/// Most CANDIDATES per draw.
inline constexpr uint32_t kMaxCandidates = 1024;

/// Throws ARGUMENT for a draw that breaks a rule of tenon_draw.
inline void check_draw(const tenon_draw& draw, uint32_t num_rows, uint64_t vocab) {
  if (draw.row >= num_rows || draw.drawn == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: row {} of {}, or nowhere to go", draw.row, num_rows);
  }
  if (draw.kind < TENON_DRAW_GREEDY || draw.kind > TENON_DRAW_ROW) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: kind {} is unknown", draw.kind);
  }
  // Written so that NaN fails.
  if (draw.kind == TENON_DRAW_DRAWN &&
      !(draw.temperature > 0 && draw.top_p >= 0 && draw.min_p >= 0 && draw.min_p <= 1)) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: temperature {}, top_p {} or min_p {} is out of range",
           draw.temperature, draw.top_p, draw.min_p);
  }
  const bool lists = draw.kind == TENON_DRAW_CANDIDATES;
  if (lists && (draw.num_candidates < 1 || draw.num_candidates > kMaxCandidates ||
                draw.candidates == nullptr)) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: {} candidates, not in 1..{}", draw.num_candidates,
           kMaxCandidates);
  }
  if ((lists || draw.kind == TENON_DRAW_ROW) && draw.logits == nullptr) {
    refuse(TENON_BACKEND_ARGUMENT, "draw: no memory for the logits of row {}", draw.row);
  }
  for (uint32_t i = 0; i < draw.num_biases; ++i) {
    const tenon_draw_bias& bias = draw.biases[i];
    if (bias.token >= 0 && static_cast<uint64_t>(bias.token) < vocab &&
        bias.bias <= std::numeric_limits<float>::max()) {
      continue;
    }
    refuse(TENON_BACKEND_ARGUMENT, "draw: bias {} of token {}", bias.bias, bias.token);
  }
}

/// Makes draws one by one in reused memory. All sums run in token order.
class HostDraw {
 public:
  ///   logits  [vocab], as computed by the step
  void run(const tenon_draw& draw, std::span<const float> logits) {
    tenon_drawn& drawn = *draw.drawn;
    drawn = {0, -1, 0, 0, 0, 0};
    if (draw.kind == TENON_DRAW_ROW) {
      std::copy(logits.begin(), logits.end(), draw.logits);
      return;
    }
    for (const float x : logits) {
      if (std::isfinite(x)) continue;
      drawn.flags = TENON_DRAWN_NOT_FINITE;
      return;
    }
    take_allowed(draw, logits);
    if (tokens_.empty()) {
      drawn.flags = TENON_DRAWN_NONE_ALLOWED;
      return;
    }
    const double log_sum = log_sum_exp();
    drawn.log_sum_exp = static_cast<float>(log_sum);
    if (draw.kind == TENON_DRAW_CANDIDATES) return write_candidates(draw);
    all_ = logits_;
    all_tokens_ = tokens_;
    drawn.token = draw.kind == TENON_DRAW_GREEDY ? tokens_[largest()] : drawn_token(draw);
    const auto at = std::lower_bound(all_tokens_.begin(), all_tokens_.end(), drawn.token);
    const float logit = all_[static_cast<size_t>(at - all_tokens_.begin())];
    drawn.logprob = static_cast<float>(double{logit} - log_sum);
  }

 private:
  void take_allowed(const tenon_draw& draw, std::span<const float> logits) {
    biased_.assign(logits.begin(), logits.end());
    for (uint32_t i = 0; i < draw.num_biases; ++i) {
      biased_[static_cast<size_t>(draw.biases[i].token)] += draw.biases[i].bias;
    }
    tokens_.clear();
    logits_.clear();
    for (size_t t = 0; t < biased_.size(); ++t) {
      if (draw.allowed != nullptr && (draw.allowed[t / 64] >> (t % 64) & 1) == 0) continue;
      if (biased_[t] == -std::numeric_limits<float>::infinity()) continue;
      tokens_.push_back(static_cast<int32_t>(t));
      logits_.push_back(biased_[t]);
    }
  }

  [[nodiscard]] size_t largest() const {
    return static_cast<size_t>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
  }

  [[nodiscard]] double log_sum_exp() const {
    const double max = logits_[largest()];
    double sum = 0;
    for (const float logit : logits_) sum += std::exp(logit - max);
    return max + std::log(sum);
  }

  /// Sorts the candidates by weight, heaviest first, ties by token. Only the first `count` are in
  /// their final places.
  void order(size_t count) {
    order_.resize(logits_.size());
    for (uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(count), order_.end(),
                      [this](uint32_t a, uint32_t b) {
                        return logits_[a] != logits_[b] ? logits_[a] > logits_[b] : a < b;
                      });
  }

  /// Keeps the first `count` of order().
  void keep_first(size_t count) {
    std::sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(count));
    for (size_t i = 0; i < count; ++i) {
      tokens_[i] = tokens_[order_[i]];
      logits_[i] = logits_[order_[i]];
    }
    tokens_.resize(count);
    logits_.resize(count);
  }

  void write_candidates(const tenon_draw& draw) {
    const size_t count = std::min<size_t>(draw.num_candidates, tokens_.size());
    order(count);
    for (size_t i = 0; i < count; ++i) {
      draw.candidates[i] = tokens_[order_[i]];
      draw.logits[i] = logits_[order_[i]];
    }
    draw.drawn->num_candidates = static_cast<uint32_t>(count);
  }

  /// Computes exp(l_i - max l) and returns their sum.
  double weigh() {
    const float max = logits_[largest()];
    weights_.resize(logits_.size());
    double sum = 0;
    for (size_t i = 0; i < logits_.size(); ++i) sum += weights_[i] = std::exp(logits_[i] - max);
    return sum;
  }

  void cut_top_p(double top_p) {
    const double least = top_p * weigh();
    order(logits_.size());
    size_t count = 0;
    for (double sum = 0; count < order_.size() && (count == 0 || sum < least); ++count) {
      sum += weights_[order_[count]];
    }
    keep_first(count);
  }

  void cut_min_p(double min_p) {
    const double least = logits_[largest()] + std::log(min_p);
    size_t kept = 0;
    for (size_t i = 0; i < logits_.size(); ++i) {
      if (logits_[i] < least) continue;
      tokens_[kept] = tokens_[i];
      logits_[kept++] = logits_[i];
    }
    tokens_.resize(kept);
    logits_.resize(kept);
  }

  int32_t drawn_token(const tenon_draw& draw) {
    if (draw.top_k > 0 && draw.top_k < logits_.size()) {
      order(draw.top_k);
      keep_first(draw.top_k);
    }
    if (draw.top_p < 1) cut_top_p(draw.top_p);
    if (draw.min_p > 0) cut_min_p(draw.min_p);
    const double max = logits_[largest()];
    if (draw.temperature != 1) {
      for (float& logit : logits_) {
        logit = logit == max ? 0.0F : static_cast<float>((logit - max) / draw.temperature);
      }
    }
    const double target = weigh() * uniform_at(draw.seed, draw.position);
    double sum = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] <= 0) continue;
      chosen = i;
      sum += weights_[i];
      if (sum > target) break;
    }
    return tokens_[chosen];
  }

  std::vector<float> biased_;        // [vocab]
  std::vector<int32_t> tokens_;      // remaining tokens, ascending
  std::vector<float> logits_;        // of tokens_
  std::vector<int32_t> all_tokens_;  // before top_k and later cuts
  std::vector<float> all_;
  std::vector<float> weights_;
  std::vector<uint32_t> order_;
};

}  // namespace tenon::backends
