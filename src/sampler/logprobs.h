// Log-probabilities of tokens under a model's logits, before any sampler.
#pragma once

#include <cstdint>
#include <span>

namespace tenon {

/// Computes natural log-probabilities from logits [vocab] f32, finite or -inf. Those of tokens [n]
/// go to logprobs [n]. The k likeliest tokens, k <= vocab, go to top_tokens [k] and top_logprobs
/// [k], likeliest first, ties by id. Sums in f64 in the order of ids. Throws Argument for a token
/// or k outside the vocabulary. Throws State for non-finite logits, or if all are -inf.
void logprobs_of(std::span<const float> logits, std::span<const int32_t> tokens,
                 std::span<float> logprobs, std::span<int32_t> top_tokens,
                 std::span<float> top_logprobs);

}  // namespace tenon
