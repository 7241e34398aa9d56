// DRY (don't repeat yourself): lowers tokens that would continue a repetition.
#include <algorithm>
#include <cmath>

#include "sampler/stage.h"

namespace tenon {
namespace dry_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    real_parameter("dry_multiplier", 0.0, 100.0, 0.0,
                   "Subtracted, times a power of dry_base, from the logit of a token that would "
                   "lengthen a repetition; 0 disables."),
    real_parameter("dry_base", 1.0, 10.0, 1.75,
                   "Factor of the penalty for each further token of a repetition."),
    integer_parameter("dry_allowed_length", 1, 2147483647, 2,
                      "Tokens of the shortest repetition that is penalised."),
    integer_parameter(
        "dry_last_n", -1, 2147483647, -1,
        "Last tokens that are searched for repetitions; -1: as many as the vocabulary "
        "has."),
};

constexpr double kMaxPenalty = 1e30;

/// Follows its author's definition (p-e-w, text-generation-webui, pull request 5677). With r the
/// recent tokens, last first, a repetition of the text's end is the common prefix of r and r[i..]:
/// the Z function of r, in linear time.
void lower_repetitions(Candidates& candidates, const SamplerInput& input,
                       std::span<const int32_t> recent) {
  const auto allowed = static_cast<size_t>(input.values.integer("dry_allowed_length"));
  const size_t n = recent.size();
  const auto r = [recent, n](size_t i) { return recent[n - 1 - i]; };
  // A breaker bounds the repetition.
  size_t longest = n;
  for (size_t i = 0; i < n && longest == n; ++i) {
    if (std::binary_search(input.dry_breakers.begin(), input.dry_breakers.end(), r(i))) longest = i;
  }
  if (longest < allowed) return;

  const std::span<float> logits = candidates.writable_logits();
  const std::span<uint32_t> z = candidates.vocab_scratch();  // [n]
  // Per token, the longest repetition it continues.
  const std::span<uint32_t> lengths = candidates.zeroed_counters();
  size_t left = 0;
  size_t right = 0;
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < right ? std::min<size_t>(right - i, z[i - left]) : 0;
    while (i + length < n && r(length) == r(i + length)) ++length;
    z[i] = static_cast<uint32_t>(length);
    if (i + length > right) {
      left = i;
      right = i + length;
    }
    const size_t repeated = std::min(length, longest);
    const auto index = candidates.index_of(r(i - 1));
    if (repeated < allowed || !index) continue;
    uint32_t& known = lengths[*index];
    known = std::max(known, static_cast<uint32_t>(repeated));
  }
  const double multiplier = input.values.real("dry_multiplier");
  const double base = input.values.real("dry_base");
  for (const int32_t token : recent) {
    const auto index = candidates.index_of(token);
    if (!index || lengths[*index] == 0) continue;
    uint32_t& length = lengths[*index];
    const double power = std::pow(base, static_cast<double>(length - allowed));
    logits[*index] -= static_cast<float>(std::min(multiplier * power, kMaxPenalty));
    length = 0;
  }
}

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  if (input.values.real("dry_multiplier") == 0.0) return std::nullopt;
  // The scratch has one number per token of the vocabulary.
  size_t last_n = candidates.vocab();
  const int64_t wanted = input.values.integer("dry_last_n");
  if (wanted >= 0) last_n = std::min(last_n, static_cast<size_t>(wanted));
  const auto recent = input.history.last(std::min(input.history.size(), last_n));
  if (recent.size() > 1) lower_repetitions(candidates, input, recent);
  return std::nullopt;
}

bool is_on_device(const SamplerValues& values) { return values.real("dry_multiplier") == 0.0; }

/// DRY only lowers logits.
SamplerReach reach(const SamplerInput& input) {
  if (is_on_device(input.values)) return {SamplerReach::Kind::Nothing};
  const int64_t last_n = input.values.integer("dry_last_n");
  const uint64_t size = input.history.size();
  return {SamplerReach::Kind::Some,
          last_n < 0 ? size : std::min(size, static_cast<uint64_t>(last_n))};
}

}  // namespace
}  // namespace dry_stage

extern constexpr SamplerStage kDryStage{"dry", dry_stage::kParameters, dry_stage::apply,
                                        dry_stage::is_on_device, dry_stage::reach};

}  // namespace tenon
