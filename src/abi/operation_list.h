// The operations of the plugin ABI, one line each. All tables expand from this list: rules of
// programs (program/ops), plain forms (backends/common/plain), names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "tenon/backend.h"

namespace tenon::backends {

/// How an operation uses the cache. All parameter structs but None's begin with group and layer.
enum class CacheUse {
  None,
  Writes,           ///< a layer of positions
  Reads,            ///< a layer of positions, written before
  ReadsCompressed,  ///< also a second layer: params.attention_pools.pool_group and pool_layer
  State             ///< values per sequence in a STATE group, located by params.state
};

// X(KIND, name, CacheUse): TENON_OP_KIND, in the order of the numbers.
// clang-format off
#define TENON_OPERATIONS(X) \
  X(EMBED, embed, None)                           \
  X(RMS_NORM, rms_norm, None)                     \
  X(LAYER_NORM, layer_norm, None)                 \
  X(LINEAR, linear, None)                         \
  X(ROPE_ANGLES, rope_angles, None)               \
  X(ROPE, rope, None)                             \
  X(KV_WRITE, kv_write, Writes)                   \
  X(ATTENTION, attention, Reads)                  \
  X(GLU, glu, None)                               \
  X(ADD, add, None)                               \
  X(SCALE, scale, None)                           \
  X(GATHER_ROWS, gather_rows, None)               \
  X(SOFT_CAP, soft_cap, None)                     \
  X(MOE_ROUTE, moe_route, None)                   \
  X(MOE_LINEAR, moe_linear, None)                 \
  X(SIGMOID_GATE, sigmoid_gate, None)             \
  X(ACTIVATE, activate, None)                     \
  X(MUL, mul, None)                               \
  X(SUM_SEGMENTS, sum_segments, None)             \
  X(SLICE, slice, None)                           \
  X(CONCAT, concat, None)                         \
  X(LINEAR_HEADS, linear_heads, None)             \
  X(L2_NORM, l2_norm, None)                       \
  X(POSITION_SCALE, position_scale, None)         \
  X(POOL, pool, None)                             \
  X(TOKEN_SHIFT, token_shift, State)              \
  X(CONV, conv, State)                            \
  X(SSM_SCAN, ssm_scan, State)                    \
  X(DELTA_RULE, delta_rule, State)                \
  X(WKV7, wkv7, State)                            \
  X(MIX_STREAMS, mix_streams, None)               \
  X(SINKHORN, sinkhorn, None)                     \
  X(SELECT, select, Reads)                        \
  X(SELECT_BLOCKS, select_blocks, Reads)          \
  X(COMPRESS, compress, Reads)                    \
  X(NGRAM_ROWS, ngram_rows, None)                 \
  X(SOFTMAX, softmax, None)                       \
  X(WKV6, wkv6, State)                            \
  X(ATTENTION_POOLS, attention_pools, ReadsCompressed) \
  X(ROUND, round, None)                           \
  X(SELECT_CANDIDATES, select_candidates, Reads)  \
  X(SELECT_WITHIN, select_within, Reads)
// clang-format on

struct ListedOperation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  CacheUse cache;
};
inline constexpr ListedOperation kListedOperations[] = {
#define TENON_LISTED(KIND, name, cache) {TENON_OP_##KIND, #name, CacheUse::cache},
    TENON_OPERATIONS(TENON_LISTED)
#undef TENON_LISTED
};

/// None for an unknown operation.
constexpr CacheUse cache_use(uint32_t kind) noexcept {
  return kind >= 1 && kind <= std::size(kListedOperations) ? kListedOperations[kind - 1].cache
                                                           : CacheUse::None;
}
constexpr bool are_in_order() noexcept {
  for (size_t i = 0; i < std::size(kListedOperations); ++i) {
    if (kListedOperations[i].kind != i + 1) return false;
  }
  return true;
}
static_assert(are_in_order(), "operations are numbered from 1 on, without gaps");

}  // namespace tenon::backends
