#include "engine/snapshot_pieces.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {
namespace {

bool piece_has(const BlockPoolOptions& group, const SnapshotPiece& piece) {
  const uint64_t num_blocks = piece.position / group.block_tokens;
  if (group.kind == TENON_CACHE_STATE) return piece.index == num_blocks && piece.position > 0;
  if (group.kind == TENON_CACHE_CROSS) return false;  // the source is saved instead
  if (piece.index >= num_blocks) return false;
  const uint64_t unseen = group.window == 0 || piece.position < group.window
                              ? 0
                              : (piece.position - group.window + 1) / group.block_tokens;
  return piece.index >= std::min(unseen, num_blocks - 1);  // as CacheTable::first_needed
}

/// Last position of a piece of blocks; the position of the states.
uint64_t end_of(PoolSpan pools, const SnapshotPiece& piece) {
  return std::min<uint64_t>(piece.position, (piece.index + 1) * piece_block_tokens(pools));
}

}  // namespace

uint32_t piece_block_tokens(PoolSpan pools) {
  if (pools.empty()) return 1;
  const uint32_t block_tokens = pools.front()->block_tokens();
  for (const auto& pool : pools) {
    if (pool->block_tokens() == block_tokens) continue;
    fail(Code::Unsupported, "cache groups with blocks of {} and of {} positions", block_tokens,
         pool->block_tokens());
  }
  return block_tokens;
}

uint64_t piece_bytes(PoolSpan pools, const SnapshotPiece& piece) {
  uint64_t size = 0;
  for (const auto& pool : pools) {
    if (piece_has(pool->options(), piece)) size += pool->block_bytes();
  }
  return size;
}

std::vector<uint64_t> piece_blocks(PoolSpan pools, const SnapshotPiece& piece) {
  std::vector<uint64_t> blocks;
  for (const auto& pool : pools) blocks.push_back(piece_has(pool->options(), piece) ? 1 : 0);
  return blocks;
}

bool read_piece(const DeviceTurn::Held&, PoolSpan pools, const Sequence& sequence,
                const SnapshotPiece& piece, std::span<std::byte> out) {
  if (sequence.cached() < end_of(pools, piece)) return false;
  for (size_t group = 0; group < pools.size(); ++group) {
    BlockPool& pool = *pools[group];
    if (!piece_has(pool.options(), piece)) continue;
    const CacheTable& table = *sequence.tables()[group];
    const bool is_state = pool.options().kind == TENON_CACHE_STATE;
    const uint32_t block =
        is_state ? table.state_after(piece.position) : table.shared_block(piece.index);
    if (block == BlockPool::kNoBlock) return false;
    pool.read(block, out.data());
    out = out.subspan(pool.block_bytes());
  }
  return true;
}

void write_piece(const DeviceTurn::Held&, PoolSpan pools, Sequence& sequence,
                 const SnapshotPiece& piece, std::span<const std::byte> values) {
  for (const auto& table : sequence.tables()) table->reserve(piece.index + 1);
  for (size_t group = 0; group < pools.size(); ++group) {
    BlockPool& pool = *pools[group];
    if (!piece_has(pool.options(), piece)) continue;
    uint32_t block = BlockPool::kNoBlock;
    try {
      block = pool.allocate();
      pool.write(block, values.data());
    } catch (...) {
      if (block != BlockPool::kNoBlock) pool.release(block);
      sequence.roll_back();
      throw;
    }
    CacheTable& table = *sequence.tables()[group];
    if (pool.options().kind == TENON_CACHE_STATE) {
      table.adopt_state(piece.position, block);
    } else {
      table.adopt(piece.index, block);
    }
    pool.release(block);
    values = values.subspan(pool.block_bytes());
  }
  sequence.set_restored(end_of(pools, piece));
}

}  // namespace tenon
