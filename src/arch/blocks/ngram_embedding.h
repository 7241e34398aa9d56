// Rows found by hashes of the last tokens, added to residual streams (Engram, arXiv 2601.07372, as
// in Qwen4-Exp and DeepSeek-V4.1).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Rows found by hashes of the last tokens, added to the residual streams before a layer (Engram,
/// arXiv 2601.07372, as in Qwen4-Exp and DeepSeek-V4.1).
struct NgramSpec {
  NgramLookup lookup;
  uint32_t row = 0;       ///< values per row of the table
  uint32_t kernel = 0;    ///< taps of the convolution; 0 means none
  uint32_t dilation = 0;  ///< tokens between taps

  [[nodiscard]] uint64_t state_values(uint64_t columns) const {
    return kernel == 0 ? 0 : uint64_t{kernel - 1} * dilation * columns;
  }
  void add_caches(BuildContext& context, uint32_t layer) const;
};

/// Addend to the residual streams before a layer. With e the concatenated rows of the last tokens,
/// v = "ple_value" e, k = norm("ple_key" e) and q = norm(streams), each stream separately:
///   u_j = sigmoid(r(k_j . q_j / sqrt(width))) v,  r(x) = sign(x) sqrt(max(|x|, 1e-6))
///   u + silu(conv(norm(u)))
/// The convolution's taps are NgramSpec::dilation tokens apart.
///   streams [T, streams * width] -> [T, streams * width]
/// Test: the golden "qwen4exp".
Slot ngram_embedding(BuildContext& context, uint32_t layer, Slot streams);

/// Adds a value to each stream before a layer. With e the concatenated rows of the last tokens, k
/// is the first streams * width values of "engram_wkv" e, v the rest:
///   stream_j + sigmoid(r(norm(k)_j . norm(streams)_j / sqrt(width))) v
/// Norms are per stream, with the weights "engram_k" and "engram_q". Each layer has its own table,
/// "engram_embd".
///   streams [T, streams * width] -> [T, streams * width]
/// Test: the golden "deepseek41".
Slot add_ngram_values(BuildContext& context, uint32_t layer, Slot streams);

}  // namespace tenon
