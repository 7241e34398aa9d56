// Rows of the cache: addresses, and values of their words. Included by kernels that have
// cache_type(), a kCache number.

// Values in a word of a row.
TENON_DEVICE uint values_of_word() {
  switch (cache_type()) {
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

// Place of row `number` of a sequence: the rows of a KV head in its block, and its slot among them.
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
  return TENON_MAKE(CacheRow)(memory + cache.layer_offset + kv_head * cache.head_bytes,
                              number - before);
}

TENON_DEVICE Words cache_key(CacheLayer cache, CacheRow row) {
  return Words(row.head + row.slot * cache.key_bytes);
}
TENON_DEVICE Words cache_value(CacheLayer cache, CacheRow row) {
  if (cache.latent != 0) return cache_key(cache, row);
  return Words(row.head + cache.rows * cache.key_bytes + row.slot * cache.value_bytes);
}

// Scale of the codes of a row of n values.
TENON_DEVICE float cache_scale(Words row, uint n) {
  if (cache_type() == kCacheF32 || cache_type() == kCacheF16) return 1;
  const uint per_word = values_of_word();
  return half_to_float(row.at[(n + per_word - 1) / per_word] & 0xFFFFu);
}

// Value d of a row without its scale. A row of 4 bits is rotated.
TENON_DEVICE float cache_code(Words row, uint d) {
  switch (cache_type()) {
    case kCacheF32:
      return bits_to_float(row.at[d]);
    case kCacheF16:
      return half_to_float(row.at[d / 2] >> d % 2 * 16 & 0xFFFFu);
    case kCacheInt8:
      return signed_byte_from(row.at[d / 4], d % 4 * 8);
    default:
      return 2 * float(row.at[d / 8] >> d % 8 * 4 & 15u) - 15;
  }
}

// Values [d, d + 8) of a row of n without its scale; zeros from n on. d is a multiple of 8, so a
// loop over such pieces loads each word once.
TENON_DEVICE void cache_codes(Words row, uint d, uint n, TENON_OUT(float, codes, 8)) {
  for (uint i = 0; i < 8; ++i) codes[i] = d + i < n ? cache_code(row, d + i) : 0;
}
