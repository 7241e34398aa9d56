// Rows of the cache: where they lie, and what their words hold. The type of a cache is a
// number of tenon/backend.h.
#pragma once

#include "backends/cuda/kernels/device.h"
#include "backends/cuda/kernels/device_half.h"

namespace tenon::cuda {

inline constexpr uint kCacheF32 = 0;
inline constexpr uint kCacheF16 = 1;
inline constexpr uint kCacheInt8 = 256;
inline constexpr uint kCacheQ4 = 257;

// Values in a word of a row.
TENON_DEVICE uint values_of_word(uint type) {
  switch (type) {
    case kCacheF32:
      return 1;
    case kCacheF16:
      return 2;
    case kCacheInt8:
      return 4;
    default:
      return 8;
  }
}

// Where the rows of a KV head begin in the block of row `number` of a sequence, and which one of them
// it is.
struct CacheRow {
  Address head;
  uint slot;
};

TENON_DEVICE CacheRow cache_row(Step step, CacheLayer cache, uint sequence, uint kv_head,
                                uint number) {
  const uint position = number * cache.stride + cache.stride - 1;
  const uint block = position / cache.block_tokens;
  const uint before = block * cache.block_tokens / cache.stride;
  const uint start =
      Words(step.header.table_starts).at[sequence * step.header.groups + cache.group];
  const Address memory = Addresses(step.header.tables).at[start + block];
  return {memory + cache.layer_offset + kv_head * cache.head_bytes, number - before};
}

TENON_DEVICE Words cache_key(CacheLayer cache, CacheRow row) {
  return Words(row.head + row.slot * cache.key_bytes);
}
TENON_DEVICE Words cache_value(CacheLayer cache, CacheRow row) {
  if (cache.latent != 0) return cache_key(cache, row);
  return Words(row.head + cache.rows * cache.key_bytes + row.slot * cache.value_bytes);
}

// What codes of a row of n values are multiplied with.
TENON_DEVICE float cache_scale(uint type, Words row, uint n) {
  if (type == kCacheF32 || type == kCacheF16) return 1;
  const uint per_word = values_of_word(type);
  return half_to_float(row.at[(n + per_word - 1) / per_word] & 0xFFFFu);
}

// Value d of a row without its scale; of 4 bits that of the rotated row.
TENON_DEVICE float cache_code(uint type, Words row, uint d) {
  switch (type) {
    case kCacheF32:
      return bits_to_float(row.at[d]);
    case kCacheF16:
      return half_to_float(row.at[d / 2] >> d % 2 * 16 & 0xFFFFu);
    case kCacheInt8:
      return signed_byte(row.at[d / 4], d % 4 * 8);
    default:
      return 2 * float(row.at[d / 8] >> d % 8 * 4 & 15u) - 15;
  }
}

// Values d .. d + 8 of a row of n without its scale, d a multiple of 8; zeros beyond the last one. A loop over
// such pieces loads each word once.
TENON_DEVICE void cache_codes(uint type, Words row, uint d, uint n, float (&codes)[8]) {
  for (uint i = 0; i < 8; ++i) codes[i] = d + i < n ? cache_code(type, row, d + i) : 0;
}

}  // namespace tenon::cuda
