// Cache groups that the kernels support.
#pragma once

#include "abi/strided.h"
#include "backends/cpu/layouts/cache_block.h"
#include "quant/cache_row.h"
#include "tenon/backend.h"

namespace tenon::cpu {

inline bool group_supported(const tenon_program& program, uint32_t group) noexcept {
  const tenon_cache_group& g = groups_of(program)[group];
  const CacheType type = cache_type(g.type);
  const bool short_rows = g.key_dim <= kMaxCacheRow && g.value_dim <= kMaxCacheRow;
  // The score kernel reads 16 consecutive positions of a block.
  return g.kind != TENON_CACHE_STATE && type != CacheType::Count && g.block_tokens % 16 == 0 &&
         (short_rows || type == CacheType::F32 || type == CacheType::F16);
}

inline bool latent_supported(const tenon_program& program, uint32_t group) noexcept {
  return group_supported(program, group) && groups_of(program)[group].kind == TENON_CACHE_LATENT;
}

}  // namespace tenon::cpu
