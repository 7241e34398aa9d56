// How much memory the candidates of a draw take.
#pragma once

#include <cstdint>

namespace tenon {

/// From the first draw on: five arrays of four bytes for each token (own logits, weights, ids,
/// indices, counters).
constexpr uint64_t candidates_bytes(uint64_t vocab) { return vocab * 5 * 4; }

/// What of it every draw touches: the counters. The default sampler leaves the rest nearly
/// untouched; samplers that change all logits do not.
constexpr uint64_t least_candidates_bytes(uint64_t vocab) { return vocab * 4; }

}  // namespace tenon
