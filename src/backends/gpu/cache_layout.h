// Sizes of the cache on a device: rows of whole words, so that shaders need no narrow loads.
// CacheLayer (step_layout.h) defines the contents.
#pragma once

#include <cstdint>

#include "abi/cache_rows.h"
#include "abi/sizes.h"
#include "backends/gpu/step_layout.h"
#include "tenon/backend.h"

namespace tenon::gpu {

/// Bytes of a key or value of n values: whole words, plus a word for the scale of codes.
constexpr uint64_t cache_row_bytes(uint32_t type, uint64_t n) noexcept {
  constexpr uint64_t kWord = 4;
  switch (type) {
    case TENON_TYPE_F32:
      return n * kWord;
    case TENON_TYPE_F16:
      return (n + 1) / 2 * kWord;
    case TENON_CACHE_INT8:
      return ((n + 3) / 4 + 1) * kWord;
    default:  // TENON_CACHE_Q4
      return ((n + 7) / 8 + 1) * kWord;
  }
}

inline uint64_t key_row_bytes(const tenon_cache_group& group) noexcept {
  return cache_row_bytes(group.type, group.key_dim);
}
/// Returns 0 for latent rows, which are keys.
inline uint64_t value_row_bytes(const tenon_cache_group& group) noexcept {
  if (group.kind == TENON_CACHE_LATENT) return 0;
  return cache_row_bytes(group.type, group.value_dim);
}

/// Bytes of a layer in a block. Throws LIMIT if they overflow 32 bits.
inline uint64_t layer_bytes(const tenon_cache_group& group) {
  using backends::multiply;
  const uint64_t head = multiply(backends::rows_of_block(group),
                                 key_row_bytes(group) + value_row_bytes(group), "cache block");
  const uint64_t bytes = multiply(group.kv_heads, head, "cache block");
  if (bytes > UINT32_MAX) {
    backends::refuse(TENON_BACKEND_LIMIT, "a layer of a cache block has {} bytes", bytes);
  }
  return bytes;
}

/// Bytes of a block of a group. Throws LIMIT.
inline uint64_t block_bytes(const tenon_cache_group& group) {
  using backends::multiply;
  if (group.kind != TENON_CACHE_STATE) {
    return multiply(group.layers, layer_bytes(group), "cache block");
  }
  const uint64_t values = multiply(group.layers, group.state_values, "cache block");
  return multiply(values, sizeof(float), "cache block");
}

inline CacheLayer cache_layer(const tenon_cache_group& group, uint32_t number, uint32_t layer) {
  CacheLayer out{};
  out.group = number;
  out.latent = group.kind == TENON_CACHE_LATENT ? 1 : 0;
  out.block_tokens = group.block_tokens;
  out.stride = backends::row_stride(group);
  out.rows = backends::rows_of_block(group);
  out.kv_heads = group.kv_heads;
  out.key_dim = group.key_dim;
  out.value_dim = group.value_dim;
  out.key_bytes = static_cast<uint32_t>(key_row_bytes(group));
  out.value_bytes = static_cast<uint32_t>(value_row_bytes(group));
  out.head_bytes = out.rows * (out.key_bytes + out.value_bytes);
  out.cross = group.kind == TENON_CACHE_CROSS ? 1 : 0;
  out.layer_offset = layer * layer_bytes(group);
  return out;
}

inline StateLayer state_layer(const tenon_cache_group& group, const tenon_state_params& state) {
  const uint64_t values = uint64_t{state.layer} * group.state_values + state.offset;
  return {state.group, 0, values * sizeof(float)};
}

}  // namespace tenon::gpu
