// Rope frequencies: the plain geometric series, divisors, linear and YaRN scaling.
#include "arch/blocks/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon {
namespace {

/// Index, as a real number, of the pair that makes `turns` turns over the original context (YaRN,
/// Peng et al. 2023, section 3.2, solved for the dimension).
double pair_with_turns(const RopeSpec& rope, double turns) {
  return rope.dimensions * std::log(rope.original_context / (turns * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(rope.theta));
}

/// Share of the unscaled frequency that pair i keeps: 1 up to `low`, 0 from `high`, a ramp between.
double kept_share(double low, double high, double i) {
  // The paper's code bounds the steepness in this way.
  const double width = std::max(0.001, high - low);
  return 1.0 - std::clamp((i - low) / width, 0.0, 1.0);
}

/// Part of a position by which each pair turns; empty if all use the first part.
std::vector<double> position_parts(const RopeSpec& rope) {
  if (rope.interleaved_parts == std::array<uint32_t, 2>{}) return {};
  std::vector<double> parts;
  for (uint32_t pair = 0; pair < rope.dimensions / 2; ++pair) {
    const uint32_t part = pair % 3;
    parts.push_back(part > 0 && pair < 3 * rope.interleaved_parts[part - 1] ? part : 0);
  }
  return parts;
}

}  // namespace

RopeTable make_rope_table(const RopeSpec& rope, std::span<const float> divisors) {
  const uint32_t pairs = rope.dimensions / 2;
  RopeTable table;
  table.magnitude = rope.magnitude;
  table.parts = position_parts(rope);
  table.frequencies.resize(pairs);
  for (uint32_t i = 0; i < pairs; ++i) {
    table.frequencies[i] = std::pow(rope.theta, -2.0 * i / rope.dimensions);
    if (!divisors.empty()) table.frequencies[i] /= divisors[i];
  }
  if (rope.scaling == RopeScaling::None) return table;
  if (rope.scaling == RopeScaling::Linear || rope.extrapolation == 0.0) {
    for (double& frequency : table.frequencies) frequency /= rope.factor;
    return table;
  }
  double low = pair_with_turns(rope, rope.beta_fast);
  double high = pair_with_turns(rope, rope.beta_slow);
  if (rope.whole_pairs) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(0.0, low);
  high = std::min(rope.dimensions - 1.0, high);
  for (uint32_t i = 0; i < pairs; ++i) {
    const double kept = kept_share(low, high, i) * rope.extrapolation;
    table.frequencies[i] *= kept + (1.0 - kept) / rope.factor;
  }
  // Sharpens attention that the longer context flattens: YaRN, section 3.3, equation 15.
  if (rope.attention_factor > 0.0) {
    table.magnitude *= rope.attention_factor;
  } else if (rope.factor > 1.0) {
    table.magnitude *= 0.1 * std::log(rope.factor) + 1.0;
  }
  return table;
}

}  // namespace tenon
