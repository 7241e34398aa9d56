// Copies rows of the cache contiguously into areas of cache blocks, as kernels read them.
#pragma once

#include <cstdint>
#include <cstring>

#include "abi/cache_rows.h"
#include "backends/cpu/layouts/cache_block.h"

namespace tenon::cpu {

/// Copies a row of an area into an area of a block that may have another number of rows.
struct AreaCopy {
  const CacheBlock& from_block;
  const CacheBlock& to_block;

  void operator()(const uint8_t* from, uint32_t from_slot, uint8_t* to, uint32_t to_slot) const {
    const auto copy = [&](uint64_t from_offset, uint64_t to_offset, uint64_t bytes) {
      std::memcpy(to + to_offset + to_slot * bytes, from + from_offset + from_slot * bytes, bytes);
    };
    if (!from_block.latent) {  // keys have the positions innermost
      const uint64_t bytes = from_block.key_row_bytes() / from_block.block_tokens;
      for (uint64_t row = 0; row < from_block.key_rows(); ++row) {
        copy(row * from_block.key_row_bytes(), row * to_block.key_row_bytes(), bytes);
      }
    }
    copy(from_block.value_offset(), to_block.value_offset(), from_block.value_row_bytes());
    if (!from_block.scaled()) return;
    copy(from_block.key_scale_offset(), to_block.key_scale_offset(), sizeof(uint16_t));
    if (from_block.latent) return;
    copy(from_block.value_scale_offset(), to_block.value_scale_offset(), sizeof(uint16_t));
  }
};

/// Areas that are filled row by row.
class AreaRows {
 public:
  ///   block   layout of the areas
  ///   copies  memory of the areas, for all rows to be added
  ///   areas   [ceil(rows / block_tokens)] set to addresses in `copies`
  AreaRows(const CacheBlock& block, uint8_t* copies, const uint8_t** areas) noexcept
      : block_(block), copies_(copies), areas_(areas) {}

  /// Adds row `number` of a latent group: one per position, or per stride.
  ///   blocks  of the sequence; `offset` of the area in each
  void add(const tenon_cache_group& group, const uint8_t* const* blocks, uint64_t offset,
           uint32_t number) noexcept {
    const backends::CacheRow row =
        backends::cache_row_of(group, backends::position_of_row(group, number));
    uint8_t* area = copies_ + count_ / block_.block_tokens * block_.area_bytes();
    const uint32_t slot = count_ % block_.block_tokens;
    if (slot == 0) areas_[count_ / block_.block_tokens] = area;
    const CacheBlock from(group);
    AreaCopy{from, block_}(blocks[row.block] + offset, row.slot, area, slot);
    ++count_;
  }
  [[nodiscard]] uint32_t count() const noexcept { return count_; }

 private:
  CacheBlock block_;
  uint8_t* copies_;
  const uint8_t** areas_;
  uint32_t count_ = 0;
};

}  // namespace tenon::cpu
