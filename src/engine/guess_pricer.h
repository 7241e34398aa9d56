// Decides how many guesses a step computes: what a row costs, by measured times of steps, against
// what a guess is worth. Its decisions change speed only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

namespace tenon {

/// Keeps the time of steps of single tokens by their number of rows. Not thread-safe.
class GuessPricer {
 public:
  /// Steps of more rows have no guesses.
  static constexpr uint32_t kMostRows = 64;

  /// Notes the time of a step without prompt tokens.
  ///   rows  tokens, guesses included
  void observe(uint32_t rows, uint64_t ns) {
    if (rows == 0 || rows > kMostRows || ns == 0) return;
    double& time = times_[rows];
    const auto seen = static_cast<double>(ns);
    // A single long step, while the machine did something else, must not end guessing for long.
    time = time == 0 ? seen : time + 0.2 * (std::min(seen, 3 * time) - time);
    measured_[rows] = ++num_steps_;
    allowance_ = std::min(allowance_ + kProbes * rows, kMostAllowed);
  }

  /// A step's work before guesses.
  struct Beside {
    uint32_t decodes = 0;
    uint32_t prompt_tokens = 0;
    double prompt_token_ns = 0;  ///< measured time per prompt token; 0: unknown
    double most_ns = 0;          ///< longest step; 0: any
  };
  /// Number of guesses, from the first, that give the most tokens per time.
  ///   values  chance of each guess to become a token, descending
  [[nodiscard]] uint32_t choose(std::span<const float> values, const Beside& beside) {
    if (beside.decodes == 0) return 0;
    const bool has_prompts = beside.prompt_tokens > 0;
    if (has_prompts && beside.prompt_token_ns == 0) return 0;
    const uint32_t rows = beside.decodes;
    if (rows >= kMostRows) return 0;
    const auto most = static_cast<uint32_t>(std::min<size_t>(values.size(), kMostRows - rows));
    // Steps without guesses are measured, too, or their time would be that of long ago.
    if (!has_prompts && num_steps_ - measured_[rows] >= kRemembered) return 0;
    const double base_ns = time_of(rows) + beside.prompt_tokens * beside.prompt_token_ns;
    double best = beside.decodes / base_ns;
    double gain = beside.decodes;
    uint32_t chosen = 0;
    for (uint32_t count = 1; count <= most; ++count) {
      gain += values[count - 1];
      const double ns = has_prompts ? base_ns + count * beside.prompt_token_ns
                                    : std::max(time_of(rows + count), base_ns);
      if (beside.most_ns > 0 && ns > beside.most_ns) break;
      if (gain / ns <= best * (chosen == 0 ? kMargin : 1)) continue;
      best = gain / ns;
      chosen = count;
    }
    if (chosen == 0 && !has_prompts) chosen = probe(values.first(most), beside);
    return chosen;
  }

  /// Time of a step of `rows` rows in nanoseconds, measured or estimated from the nearest
  /// measurement; 1 before any.
  [[nodiscard]] double time_of(uint32_t rows) const {
    if (times_[rows] > 0) return times_[rows];
    uint32_t below = rows, above = rows;
    while (below > 0 && times_[below] == 0) --below;
    while (above <= kMostRows && times_[above] == 0) ++above;
    if (below == 0 && above > kMostRows) return shape(rows);
    if (below == 0) return times_[above] * shape(rows) / shape(above);
    if (above > kMostRows) return times_[below] * shape(rows) / shape(below);
    const double part = static_cast<double>(rows - below) / (above - below);
    return times_[below] + part * (times_[above] - times_[below]);
  }

 private:
  /// Guesses must promise this much more than none.
  static constexpr double kMargin = 1.01;
  /// Part of the rows that may be computed only to measure.
  static constexpr double kProbes = 0.01;
  static constexpr double kMostAllowed = 8;
  /// Steps after which the time of a step without guesses is measured again.
  static constexpr uint64_t kRemembered = 64;

  /// Steps take the time of the weights at first, then that of the arithmetic.
  static double shape(uint32_t rows) { return std::hypot(1.0, 0.14 * rows); }

  /// Measures again what looked too dear: times of long ago, or of a busy machine.
  uint32_t probe(std::span<const float> values, const Beside& beside) {
    const auto likely = static_cast<uint32_t>(
        std::ranges::find_if(values, [](float value) { return value < kLikely; }) - values.begin());
    const uint32_t count = std::min(likely, 4u);
    if (count == 0 || allowance_ < count) return 0;
    if (beside.most_ns > 0 && time_of(beside.decodes + count) > beside.most_ns) return 0;
    allowance_ -= count;
    return count;
  }
  static constexpr float kLikely = 0.7F;

  std::array<double, kMostRows + 1> times_{};       // [rows] ns; 0: not measured
  std::array<uint64_t, kMostRows + 1> measured_{};  // [rows] latest step with a time
  uint64_t num_steps_ = kRemembered;
  double allowance_ = 0;
};

}  // namespace tenon
