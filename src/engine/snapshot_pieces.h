// Pieces of a session's cache, in the order of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/device_turn.h"
#include "engine/sequence.h"
#include "kv/block_pool.h"

namespace tenon {

/// Block 0 of each group with positions, block 1, ... up to the block that ends at `position`, then
/// the states at `position`. A piece leaves out groups whose window begins later.
struct SnapshotPiece {
  uint64_t position;  ///< where the restored sequence continues
  uint64_t index;     ///< 0 .. position / block_tokens; the last is the states
};

using PoolSpan = std::span<const std::shared_ptr<BlockPool>>;  ///< [groups]

/// Positions per block, in all groups. Throws Unsupported if groups differ.
uint32_t piece_block_tokens(PoolSpan pools);
uint64_t piece_bytes(PoolSpan pools, const SnapshotPiece& piece);
/// Blocks of a piece, [groups].
std::vector<uint64_t> piece_blocks(PoolSpan pools, const SnapshotPiece& piece);
/// Copies a piece of a sequence to `out`, [piece_bytes()]. Returns false if any part of it is gone.
bool read_piece(const DeviceTurn::Held& turn, PoolSpan pools, const Sequence& sequence,
                const SnapshotPiece& piece, std::span<std::byte> out);
/// Appends a piece to the computed part of a sequence, which has all pieces before. The pools have
/// room for its blocks. Throws std::bad_alloc and the device's errors; nothing changes then.
void write_piece(const DeviceTurn::Held& turn, PoolSpan pools, Sequence& sequence,
                 const SnapshotPiece& piece, std::span<const std::byte> values);

}  // namespace tenon
