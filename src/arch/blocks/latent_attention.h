// Multi-head latent attention: a cache of one row for all heads.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// DeepSeek-AI 2024, arXiv 2405.04434, in its absorbed form: a head's query is brought into the
/// latent space ("attn_k_b"), compared there with the cached rows, and what is attended brought
/// back
/// ("attn_v_b"), so that keys and values of single heads are never made.
///   x [T, width], normalised -> [T, or in the last layer R, width]
Slot latent_attention(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
