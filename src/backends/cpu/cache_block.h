// The layout of a KV cache block in this backend. Nothing here computes on it.
//
//   block of a group   [layers][kv_heads] areas
//   area               keys [key_dim][token_stride], values [block_tokens][value_stride]
//
// Keys lie with the positions innermost, so that a vector of keys is 16 positions of one dimension,
// and values with the dimensions innermost: the kernels read both without shuffling. Strides are
// rounded up to whole vectors.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// One layer and KV head of a block, in elements.
struct CacheBlock {
  uint32_t block_tokens;
  uint32_t key_dim;
  uint32_t value_dim;

  static constexpr uint64_t whole_vectors(uint64_t n) { return (n + 15) / 16 * 16; }
  [[nodiscard]] constexpr uint64_t token_stride() const { return whole_vectors(block_tokens); }
  [[nodiscard]] constexpr uint64_t value_stride() const { return whole_vectors(value_dim); }
  [[nodiscard]] constexpr uint64_t value_offset() const { return key_dim * token_stride(); }
  [[nodiscard]] constexpr uint64_t elements() const {
    return value_offset() + block_tokens * value_stride();
  }
};

}  // namespace tenon::cpu
