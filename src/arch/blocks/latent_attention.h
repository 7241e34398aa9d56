// Multi-head latent attention: the cache has one row for all heads.
#pragma once

#include <cstdint>

#include "arch/build_context.h"

namespace tenon {

/// Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434): keys and values of all heads
/// are linear in one latent row, cached beside the rotated part of the key. A part of
/// AttentionSpec::specs.
struct LatentSpec {
  uint32_t rank = 0;  ///< size of the latent row
  /// Size of the queries' low-rank row ("attn_q_a"); 0 means none ("attn_q").
  uint32_t query_rank = 0;
  uint32_t rope_dim = 0;  ///< last values of each query head, and of the key shared by all heads
  bool fused = false;  ///< "attn_kv_b" holds, head by head, the rows of "attn_k_b" and "attn_v_b"

  /// The absorbed form. "attn_k_b" maps a head's query into the latent space, where it is compared
  /// with the cached rows. "attn_v_b" maps the attended row back. So keys and values of single heads
  /// are never computed.
  ///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

}  // namespace tenon
