// Top-k: keeps the k likeliest tokens.
#include <algorithm>
#include <numeric>

#include "sampler/stage.h"

namespace tenon {
namespace top_k_stage {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter("top_k", 0, 2147483647, 40,
                      "Keeps the k likeliest tokens; 0 or more than the vocabulary disables."),
};

// Limit up to which a heap of k, swept over the logits once, beats partitioning all: one comparison
// refuses nearly every logit of a large vocabulary.
constexpr size_t kHeapLimit = 1024;

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const auto k = static_cast<size_t>(input.values.integer("top_k"));
  if (k == 0 || k >= candidates.vocab() || k > candidates.size()) return std::nullopt;
  const std::span<const float> logits = candidates.logits();
  const std::span<uint32_t> indices = candidates.index_scratch();
  const auto before = [logits](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  const std::span<uint32_t> kept = indices.first(k);
  if (k <= kHeapLimit) {
    std::iota(kept.begin(), kept.end(), 0u);
    std::make_heap(kept.begin(), kept.end(), before);  // the lowest kept logit is in front
    float threshold = logits[kept.front()];
    for (size_t i = k; i < logits.size(); ++i) {
      if (logits[i] <= threshold) continue;  // equal logits here have higher ids
      std::pop_heap(kept.begin(), kept.end(), before);
      kept.back() = static_cast<uint32_t>(i);
      std::push_heap(kept.begin(), kept.end(), before);
      threshold = logits[kept.front()];
    }
  } else {
    std::iota(indices.begin(), indices.end(), 0u);
    std::nth_element(indices.begin(), kept.end() - 1, indices.end(), before);
  }
  candidates.leave_after(k <= kHeapLimit ? kept.front() : kept.back());
  std::sort(kept.begin(), kept.end());
  candidates.keep_only(kept);
  return std::nullopt;
}

SamplerReach reach(const SamplerInput& input) {
  const auto k = static_cast<uint64_t>(input.values.integer("top_k"));
  if (k == 0) return {SamplerReach::Kind::Nothing};
  return {SamplerReach::Kind::First, k};
}

}  // namespace
}  // namespace top_k_stage

extern constexpr SamplerStage kTopKStage{"top_k", top_k_stage::kParameters, top_k_stage::apply,
                                         always_on_device, top_k_stage::reach};

}  // namespace tenon
