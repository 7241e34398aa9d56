// Top-k: keeps the k likeliest tokens.
#include <algorithm>
#include <numeric>

#include "sampler/stage.h"

namespace tenon {
namespace {

constexpr SamplerParameter kParameters[] = {
    integer_parameter("top_k", 0, 2147483647, 40,
                      "Keeps the k likeliest tokens; 0 or more than the vocabulary disables."),
};

// Up to here a heap of k, swept over the logits once, beats partitioning all of them: nearly every
// logit of a large vocabulary is refused by one comparison.
constexpr size_t kHeapLimit = 1024;

std::optional<int32_t> apply(Candidates& candidates, const SamplerInput& input) {
  const auto k = static_cast<size_t>(input.values.integer("top_k"));
  if (k == 0 || k >= candidates.size()) return std::nullopt;
  const std::span<const float> logits = candidates.logits();
  const std::span<uint32_t> indices = candidates.index_scratch();
  const auto before = [logits](uint32_t a, uint32_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::iota(indices.begin(), indices.end(), 0u);
  const auto kept = indices.first(k);
  if (k <= kHeapLimit) {
    std::make_heap(kept.begin(), kept.end(), before);  // the last of the kept is in front
    for (const uint32_t index : indices.subspan(k)) {
      if (!before(index, kept.front())) continue;
      std::pop_heap(kept.begin(), kept.end(), before);
      kept.back() = index;
      std::push_heap(kept.begin(), kept.end(), before);
    }
  } else {
    std::nth_element(indices.begin(), kept.end() - 1, indices.end(), before);
  }
  const uint32_t last = k <= kHeapLimit ? kept.front() : kept.back();
  const float threshold = logits[last];
  candidates.keep_if([logits, last, threshold](size_t i) {
    return logits[i] > threshold || (logits[i] == threshold && i <= last);
  });
  return std::nullopt;
}

}  // namespace

extern constexpr SamplerStage kTopKStage{"top_k", kParameters, apply};

}  // namespace tenon
