// Memory of a draw's candidates.
#pragma once

#include <cstdint>

namespace tenon {

/// Bytes after the first draw: five arrays of four bytes per token (own logits, weights, ids,
/// indices, counters).
constexpr uint64_t candidates_bytes(uint64_t vocab) { return vocab * 5 * 4; }

/// Bytes that every draw touches: the counters. The default sampler leaves the rest nearly
/// untouched; samplers that change all logits do not.
constexpr uint64_t least_candidates_bytes(uint64_t vocab) { return vocab * 4; }

}  // namespace tenon
