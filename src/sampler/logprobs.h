// Log-probabilities of tokens under the logits of a model, before any sampler.
#pragma once

#include <cstdint>
#include <span>

namespace tenon {

/// logits [vocab] f32, finite or -inf. tokens [n]: their natural logarithms of probability go to
/// logprobs [n]. top_tokens [k], k <= vocab: the k likeliest, likeliest first, ties by id, with
/// top_logprobs [k]. The sum is taken in f64 in the order of ids. Throws Argument for a token or k
/// outside the vocabulary, State for non-finite logits or when all are -inf.
void logprobs_of(std::span<const float> logits, std::span<const int32_t> tokens,
                 std::span<float> logprobs, std::span<int32_t> top_tokens,
                 std::span<float> top_logprobs);

}  // namespace tenon
