// Mirostat: keeps the tokens that hold the text's surprise near a target, and draws. Replaces all
// later samplers of the chain.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "abi/philox.h"
#include "sampler/choose.h"
#include "sampler/stage.h"

namespace tenon {
namespace mirostat_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter("mirostat", 0, 2, 0,
                      "Version of Mirostat, which replaces top_k, top_p and the like; 0 disables."),
    real_parameter("mirostat_tau", 0.0, 100.0, 5.0, "Surprise of a token to aim at, in bits."),
    real_parameter("mirostat_eta", 0.0, 1.0, 0.1, "Learning rate of Mirostat."),
};

// Number of tokens from which version 1 estimates the distribution's exponent.
constexpr size_t kEstimatedFrom = 100;

/// Basu et al. 2021, "Mirostat: A Neural Text Decoding Algorithm that Directly Controls
/// Perplexity", algorithm 1: the number of tokens to keep.
size_t tokens_of_version_1(Candidates& candidates, double surprise, double vocab) {
  const std::span<const float> weights = candidates.weights();
  const std::span<uint32_t> indices = candidates.index_scratch();
  const auto before = [weights](uint32_t a, uint32_t b) {
    return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
  };
  const size_t m = std::min(kEstimatedFrom, weights.size());
  std::iota(indices.begin(), indices.end(), 0u);
  std::partial_sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(m), indices.end(),
                    before);
  double products = 0.0;
  double squares = 0.0;
  for (size_t i = 0; i + 1 < m; ++i) {
    const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
    if (weights[indices[i + 1]] <= 0.0f) break;
    products += t * std::log(double{weights[indices[i]]} / weights[indices[i + 1]]);
    squares += t * t;
  }
  const double exponent = products / squares;
  const double epsilon = exponent - 1.0;
  const double k =
      std::pow(epsilon * std::exp2(surprise) / (1.0 - std::pow(vocab, -epsilon)), 1.0 / exponent);
  if (!(k >= 1.0)) return std::isnan(k) ? weights.size() : 1;
  return k < static_cast<double>(weights.size()) ? static_cast<size_t>(k) : weights.size();
}

void keep_likeliest(Candidates& candidates, size_t k) {
  if (k >= candidates.size()) return;
  const std::span<const float> logits = candidates.logits();
  const std::span<uint32_t> indices = candidates.index_scratch();
  std::iota(indices.begin(), indices.end(), 0u);
  const auto before = [logits](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::nth_element(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(k - 1), indices.end(),
                   before);
  std::sort(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(k));
  candidates.keep_only(indices.first(k));
}

/// Version 2 (algorithm 2 of the same paper): drops tokens of more surprise than the bound, but
/// keeps at least one.
void keep_below_surprise(Candidates& candidates, double surprise) {
  const std::span<const float> weights = candidates.weights();
  const double least = std::exp2(-surprise) * sum_of(weights);
  const float largest = *std::max_element(weights.begin(), weights.end());
  candidates.keep_if(
      [weights, least, largest](size_t i) { return weights[i] >= least || weights[i] == largest; });
}

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const int64_t version = input.values.integer("mirostat");
  if (version == 0) return std::nullopt;
  const double tau = input.values.real("mirostat_tau");
  double surprise = 2.0 * tau;
  if (input.memory != nullptr) surprise = input.memory->mirostat_surprise.value_or(surprise);

  const auto vocab = static_cast<double>(candidates.size());
  divide_by_temperature(candidates, input.values.real("temperature"));
  if (version == 1) {
    keep_likeliest(candidates, tokens_of_version_1(candidates, surprise, vocab));
  } else {
    keep_below_surprise(candidates, surprise);
  }
  const std::span<const float> weights = candidates.weights();
  const double total = sum_of(weights);
  const size_t chosen = drawn_candidate(weights, total, uniform_at(input.seed, input.position));
  const double observed = -std::log2(weights[chosen] / total);
  if (input.memory != nullptr) {
    input.memory->mirostat_surprise =
        surprise - input.values.real("mirostat_eta") * (observed - tau);
  }
  return candidates.id(chosen);
}

bool is_on_device(const SamplerValues& values) { return values.integer("mirostat") == 0; }

}  // namespace
}  // namespace mirostat_stage

extern constexpr SamplerStage kMirostatStage{"mirostat", mirostat_stage::kParameters,
                                             mirostat_stage::apply, mirostat_stage::is_on_device,
                                             all_unless<mirostat_stage::is_on_device>};

}  // namespace tenon
