// A computed block as a record of a block store: all that its bits depend on, and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/hash.h"
#include "model/model.h"

namespace tenon {

/// Hash of all that the bits of blocks depend on besides tokens: the model, the backend's device,
/// the geometry and type of the cache (snapshot_identity), and the code of the library and of its
/// backends. Equal only in processes that compute the same bits.
Hash128 bits_id(const Model& model);

/// A record, little-endian:
///   0   "TENONBLK"
///   8   u32 version, 1
///   12  u32 cache group
///   16  u128 bits_id
///   32  u128 key of the block in the prefix index, which hashes the salt and all tokens before
///   48  u64 position after the block
///   56  u64 bytes of the block
///   64  u64 tokens
/// Then follow the block, the tokens, i32, and the XXH3-128 of all bytes before. The tokens are the
/// block's own if a sequence needs all blocks before it, too, else those of the text up to here.
struct StoredBlock {
  static constexpr uint64_t kHeadBytes = 72;
  static constexpr uint64_t kSumBytes = 16;

  Hash128 bits;
  Hash128 key;
  uint32_t group = 0;
  uint64_t position = 0;
  uint64_t block_bytes = 0;
  std::span<const int32_t> tokens{};

  [[nodiscard]] static uint64_t size_of(uint64_t block_bytes, uint64_t num_tokens) {
    return kHeadBytes + block_bytes + num_tokens * sizeof(int32_t) + kSumBytes;
  }
  [[nodiscard]] uint64_t size_bytes() const { return size_of(block_bytes, tokens.size()); }
  /// Place of the block in a record [size_bytes()].
  [[nodiscard]] std::span<std::byte> block_in(std::span<std::byte> record) const {
    return record.subspan(kHeadBytes, block_bytes);
  }

  /// Writes everything but the block, which is in its place.
  void seal(std::span<std::byte> record) const;
  /// True if the record is exactly this one and undamaged.
  [[nodiscard]] bool matches(std::span<const std::byte> record) const;
};

/// Key of a group's record in a store.
Hash128 record_key(Hash128 block, uint32_t group, Hash128 bits);

}  // namespace tenon
