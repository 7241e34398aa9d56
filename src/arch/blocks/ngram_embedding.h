// Rows by the hashes of the last tokens, brought into residual streams (Engram, arXiv 2601.07372, as
// Qwen4-Exp and DeepSeek-V4.1 have it).
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// What is added to the residual streams before the layer. With e the rows of the last tokens side by
/// side, v = "ple_value" e, and k = norm("ple_key" e) and q = norm(streams), each stream by itself:
///   u_j = sigmoid(r(k_j . q_j / sqrt(width))) v,  r(x) = sign(x) sqrt(max(|x|, 1e-6))
///   u + silu(conv(norm(u)))
/// The convolution's taps are LayerSpec::ngram.dilation tokens apart. Its state follows that of the
/// layer's delta rule.
///   streams [T, streams * width] -> the same. Test: the golden "qwen4exp".
Slot ngram_embedding(BuildContext& context, uint32_t layer, Slot streams);

/// The streams with a value added to each before the layer. With e the rows of the last tokens side by
/// side, of "engram_wkv" e the first streams * width values are k and the others v:
///   stream_j + sigmoid(r(norm(k)_j . norm(streams)_j / sqrt(width))) v
/// The norms are those of single streams, with the weights "engram_k" and "engram_q". Each layer has a table
/// of its own, "engram_embd".
///   streams [T, streams * width] -> the same. Test: the golden "deepseek41".
Slot add_ngram_values(BuildContext& context, uint32_t layer, Slot streams);

}  // namespace tenon
