// Decides for how many texts, and how far, a draft model guesses: its measured time against what
// its guesses are worth. Its decisions change speed only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "engine/guess_pricer.h"

namespace tenon {

/// Keeps the times of a draft model and how often it was right. Not thread-safe.
class DraftPricer {
 public:
  /// Notes the time to guess one token of each of `texts` texts.
  void observe_round(uint32_t texts, uint64_t ns) { rounds_.observe(texts, ns); }
  /// Notes the time to read tokens of texts.
  void observe_reading(uint64_t tokens, uint64_t ns) {
    if (tokens == 0 || ns == 0) return;
    const double seen = static_cast<double>(ns) / static_cast<double>(tokens);
    token_ns_ =
        token_ns_ == 0 ? seen : token_ns_ + 0.2 * (std::min(seen, 3 * token_ns_) - token_ns_);
  }
  /// Notes whether a guess was right, of which those before it were.
  void observe_guess(float claim, bool is_right) {
    tries_ += 1;
    hits_ += is_right ? 1 : 0;
    claims_ += claim;
    if (tries_ <= kMemory) return;
    tries_ /= 2;
    hits_ /= 2;
    claims_ /= 2;
  }

  /// Chance of a guess to be right.
  [[nodiscard]] float chance() const { return (hits_ + kWeight * kFirst) / (tries_ + kWeight); }
  /// Worth of its claims.
  [[nodiscard]] float trust() const {
    return std::clamp((hits_ + kWeight * kFirst) / (claims_ + kWeight), 0.01F, 2.0F);
  }
  [[nodiscard]] double round_ns(uint32_t texts) const {
    return rounds_.time_of(std::min(texts, GuessPricer::kMostRows));
  }
  [[nodiscard]] double token_ns() const { return token_ns_; }

  /// A text that may be guessed.
  struct Text {
    float chance = 0;     ///< of each guess to be right, if those before it are
    uint64_t behind = 0;  ///< tokens to read before the first guess
    uint32_t most = 0;    ///< most guesses
  };
  struct Beside {
    uint32_t decodes = 1;  ///< texts of the step
    double most_ns = 0;    ///< longest time of guessing with the step; 0: any
  };
  struct Plan {
    uint32_t texts = 0;      ///< the first that are guessed
    uint32_t depth = 0;      ///< guesses of each, at most
    double least_value = 0;  ///< chance to become a token below which a further guess does not pay
    bool is_probe = false;
  };
  /// Plans the guesses of a step.
  ///   texts  the likeliest to be guessed first
  ///   steps  times of the model that is guessed for
  [[nodiscard]] Plan plan(std::span<const Text> texts, const GuessPricer& steps,
                          const Beside& beside) {
    constexpr uint32_t kMostRows = GuessPricer::kMostRows;
    const uint32_t rows = std::max<uint32_t>(beside.decodes, 1);
    if (texts.empty() || rows >= kMostRows) return {};
    const double base_ns = steps.time_of(rows);
    allowance_ns_ = std::min(allowance_ns_ + kProbes * base_ns, kMostSteps * base_ns);
    Plan best;
    double best_rate = kMargin * rows / base_ns;
    double reading_ns = 0;
    const auto most_texts = static_cast<uint32_t>(std::min<size_t>(texts.size(), kMostRows));
    for (uint32_t count = 1; count <= most_texts; ++count) {
      reading_ns += static_cast<double>(texts[count - 1].behind) * token_ns_ / kRounds;
      double gain = rows;
      uint32_t guesses = 0;
      for (uint32_t depth = 1; depth <= texts[0].most; ++depth) {
        for (const Text& text : texts.first(count)) {
          if (text.most < depth) continue;
          gain += std::pow(static_cast<double>(text.chance), depth);
          ++guesses;
        }
        if (rows + guesses > kMostRows) break;
        const double ns =
            std::max(steps.time_of(rows + guesses), base_ns) + depth * round_ns(count) + reading_ns;
        if (beside.most_ns > 0 && ns > beside.most_ns) break;
        if (gain / ns <= best_rate) continue;
        best_rate = gain / ns;
        best = {count, depth, 0, false};
      }
    }
    if (best.depth == 0) return probe(texts[0], beside);
    const double row_ns =
        std::max(0.0, steps.time_of(std::min(rows + best.depth, kMostRows)) - base_ns) / best.depth;
    best.least_value = (round_ns(best.texts) / best.texts + row_ns) * best_rate;
    return best;
  }

 private:
  /// Guesses must promise this much more than none.
  static constexpr double kMargin = 1.01;
  /// Part of the time that may be spent only to measure, and the most of it that is saved up, in
  /// steps.
  static constexpr double kProbes = 0.01;
  static constexpr double kMostSteps = 32;
  static constexpr uint32_t kProbeDepth = 2;
  /// Rounds of guesses that share the time to read a text.
  static constexpr double kRounds = 32;
  /// Chance before any guess, counted as so many tries.
  static constexpr float kFirst = 0.6F;
  static constexpr float kWeight = 8;
  static constexpr float kMemory = 512;

  [[nodiscard]] Plan probe(const Text& text, const Beside& beside) {
    const uint32_t depth = std::min(text.most, kProbeDepth);
    const double ns = depth * round_ns(1) + static_cast<double>(text.behind) * token_ns_;
    if (depth == 0 || ns > allowance_ns_ || (beside.most_ns > 0 && ns > beside.most_ns)) return {};
    allowance_ns_ -= ns;
    return {1, depth, 0, true};
  }

  GuessPricer rounds_;
  double token_ns_ = 0;
  double allowance_ns_ = 0;
  float tries_ = 0;
  float hits_ = 0;
  float claims_ = 0;
};

}  // namespace tenon
