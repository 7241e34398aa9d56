// Multi-head latent attention: the cache has one row for all heads.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// DeepSeek-AI 2024, arXiv 2405.04434, in its absorbed form. "attn_k_b" maps a head's query into
/// the latent space, where it is compared with the cached rows. "attn_v_b" maps the attended row
/// back. So keys and values of single heads are never computed.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot latent_attention(BuildContext& context, uint32_t layer, Slot x);

}  // namespace tenon
