#include "kv/cache_table.h"

#include <utility>

#include "kv/block_table.h"
#include "kv/cross_table.h"
#include "kv/state_table.h"

namespace tenon {

std::unique_ptr<CacheTable> CacheTable::create(std::shared_ptr<BlockPool> pool,
                                               uint64_t max_positions) {
  if (pool->options().kind == TENON_CACHE_STATE) {
    return std::make_unique<StateTable>(std::move(pool));
  }
  if (pool->options().kind == TENON_CACHE_CROSS) {
    return std::make_unique<CrossTable>(std::move(pool));
  }
  return std::make_unique<BlockTable>(std::move(pool), max_positions);
}

}  // namespace tenon
