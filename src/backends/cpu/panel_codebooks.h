// How blocks of the codebook formats lie in panels: the bits of a block as one row of a unit, and
// back. Nothing but their order changes.
//
// A unit holds 256 values of 16 rows. It is a list of fields; a field is `count` elements of
// `bytes` bytes, and element i of row r is at (i * 16 + r) * bytes of the field:
//
//   iq2_xxs  d u16                                     | 8 x (index u32, tail u32)
//   iq2_xs   d u16, scale u8[8]                        | 8 x (index u32, tail u32)
//   iq2_s    d u16, scale u8[8], high u8[8]            | 8 x (index u32, signs u32)
//   iq3_xxs  d u16                                     | 8 x (index u32[2], tail u32)
//   iq3_s    d u16, scale u8[4], high u8[8]            | 8 x (index u32[2], signs u32)
//   iq1_s    d u16, high u16[8]                        | 8 x index u32
//   iq1_m    scale u16[4], high u16[8]                 | 8 x index u32
//
// 8 x: for each 32 values of k. Byte g of index: low bits of the index of point g. Bit
// 4 (g % 2) + g / 2 of byte j of signs: value 4g + j is negative. A tail is signs of which value 7
// of each eight is left out, with the scale (iq2_xxs, iq3_xxs) or bit 8 of the indices (iq2_xs) in
// its four bits at the top. scale and high are as in the block.
#pragma once

#include <cstring>
#include <iterator>

#include "backends/cpu/panels.h"
#include "quant/iq1_m.h"
#include "quant/iq1_s.h"
#include "quant/iq2_s.h"
#include "quant/iq2_xs.h"
#include "quant/iq2_xxs.h"
#include "quant/iq3_s.h"
#include "quant/iq3_xxs.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kLargestCodebookBlock = sizeof(BlockIQ3_S);

/// The row of a unit, field after field.
struct RowIq2Xxs {
  uint16_t d;
  uint32_t block[8][2];
};
struct RowIq2Xs {
  uint16_t d;
  uint8_t scales[8];
  uint32_t block[8][2];
};
struct RowIq2S {
  uint16_t d;
  uint8_t scales[8], high[8];
  uint32_t block[8][2];
};
struct RowIq3Xxs {
  uint16_t d;
  uint32_t block[8][3];
};
struct RowIq3S {
  uint16_t d;
  uint8_t scales[4], high[8];
  uint32_t block[8][3];
};
struct RowIq1S {
  uint16_t d;
  uint16_t high[8];
  uint32_t index[8];
};
struct RowIq1M {
  uint16_t scales[4];
  uint16_t high[8];
  uint32_t index[8];
};

/// Signs of four groups of eight, bit j of signs[g] for value j, to the order of a plane; and back.
inline uint32_t spread_signs(const uint8_t (&signs)[4]) noexcept {
  uint32_t plane = 0;
  for (int g = 0; g < 4; ++g) {
    for (int j = 0; j < 8; ++j) {
      plane |= (signs[g] >> j & 1u) << (j % 4 * 8 + j / 4 * 4 + g);
    }
  }
  return plane;
}
inline void collect_signs(uint32_t plane, uint8_t (&signs)[4]) noexcept {
  for (int g = 0; g < 4; ++g) {
    signs[g] = 0;
    for (int j = 0; j < 8; ++j) {
      signs[g] |= static_cast<uint8_t>((plane >> (j % 4 * 8 + j / 4 * 4 + g) & 1u) << j);
    }
  }
}

/// Four 7-bit sign codes and four other bits as a tail; and back.
inline uint32_t make_tail(uint32_t codes, uint32_t top) noexcept {
  uint8_t signs[4];
  for (int g = 0; g < 4; ++g) signs[g] = static_cast<uint8_t>(codes >> (7 * g) & 127);
  return spread_signs(signs) | top << 28;
}
inline uint32_t tail_codes(uint32_t tail) noexcept {
  uint8_t signs[4];
  collect_signs(tail & 0x0FFFFFFF, signs);
  uint32_t codes = 0;
  for (int g = 0; g < 4; ++g) codes |= static_cast<uint32_t>(signs[g]) << (7 * g);
  return codes;
}

inline uint32_t load_four(const void* p) noexcept {
  uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

inline void to_row(const BlockIQ2_XXS& block, RowIq2Xxs& row) noexcept {
  row.d = block.d;
  for (int b = 0; b < 8; ++b) {
    const uint32_t tail = load_four(block.qs + 4 * b + 2);
    row.block[b][0] = load_four(block.qs + 4 * b);
    row.block[b][1] = make_tail(tail & 0x0FFFFFFF, tail >> 28);
  }
}
inline void from_row(const RowIq2Xxs& row, BlockIQ2_XXS& block) noexcept {
  block.d = row.d;
  for (int b = 0; b < 8; ++b) {
    const uint32_t tail = tail_codes(row.block[b][1]) | row.block[b][1] >> 28 << 28;
    std::memcpy(block.qs + 4 * b, &row.block[b][0], 4);
    std::memcpy(block.qs + 4 * b + 2, &tail, 4);
  }
}

inline void to_row(const BlockIQ2_XS& block, RowIq2Xs& row) noexcept {
  row.d = block.d;
  std::memcpy(row.scales, block.scales, sizeof(row.scales));
  for (int b = 0; b < 8; ++b) {
    uint32_t index = 0, codes = 0, high = 0;
    for (int g = 0; g < 4; ++g) {
      const uint32_t word = block.qs[4 * b + g];
      index |= (word & 255) << (8 * g);
      high |= (word >> 8 & 1) << g;
      codes |= word >> 9 << (7 * g);
    }
    row.block[b][0] = index;
    row.block[b][1] = make_tail(codes, high);
  }
}
inline void from_row(const RowIq2Xs& row, BlockIQ2_XS& block) noexcept {
  block.d = row.d;
  std::memcpy(block.scales, row.scales, sizeof(row.scales));
  for (int b = 0; b < 8; ++b) {
    const uint32_t codes = tail_codes(row.block[b][1]);
    for (int g = 0; g < 4; ++g) {
      const uint32_t low = row.block[b][0] >> (8 * g) & 255;
      const uint32_t high = row.block[b][1] >> (28 + g) & 1;
      block.qs[4 * b + g] = static_cast<uint16_t>(low | high << 8 | (codes >> (7 * g) & 127) << 9);
    }
  }
}

inline void to_row(const BlockIQ2_S& block, RowIq2S& row) noexcept {
  row.d = block.d;
  std::memcpy(row.scales, block.scales, sizeof(row.scales));
  std::memcpy(row.high, block.qh, sizeof(row.high));
  for (int b = 0; b < 8; ++b) {
    uint8_t signs[4];
    std::memcpy(signs, block.signs + 4 * b, sizeof(signs));
    row.block[b][0] = load_four(block.qs + 4 * b);
    row.block[b][1] = spread_signs(signs);
  }
}
inline void from_row(const RowIq2S& row, BlockIQ2_S& block) noexcept {
  block.d = row.d;
  std::memcpy(block.scales, row.scales, sizeof(row.scales));
  std::memcpy(block.qh, row.high, sizeof(row.high));
  for (int b = 0; b < 8; ++b) {
    uint8_t signs[4];
    collect_signs(row.block[b][1], signs);
    std::memcpy(block.signs + 4 * b, signs, sizeof(signs));
    std::memcpy(block.qs + 4 * b, &row.block[b][0], 4);
  }
}

inline void to_row(const BlockIQ3_XXS& block, RowIq3Xxs& row) noexcept {
  row.d = block.d;
  for (int b = 0; b < 8; ++b) {
    const uint32_t tail = load_four(block.tails + 4 * b);
    row.block[b][0] = load_four(block.qs + 8 * b);
    row.block[b][1] = load_four(block.qs + 8 * b + 4);
    row.block[b][2] = make_tail(tail & 0x0FFFFFFF, tail >> 28);
  }
}
inline void from_row(const RowIq3Xxs& row, BlockIQ3_XXS& block) noexcept {
  block.d = row.d;
  for (int b = 0; b < 8; ++b) {
    const uint32_t tail = tail_codes(row.block[b][2]) | row.block[b][2] >> 28 << 28;
    std::memcpy(block.qs + 8 * b, row.block[b], 8);
    std::memcpy(block.tails + 4 * b, &tail, 4);
  }
}

inline void to_row(const BlockIQ3_S& block, RowIq3S& row) noexcept {
  row.d = block.d;
  std::memcpy(row.scales, block.scales, sizeof(row.scales));
  std::memcpy(row.high, block.qh, sizeof(row.high));
  for (int b = 0; b < 8; ++b) {
    uint8_t signs[4];
    std::memcpy(signs, block.signs + 4 * b, sizeof(signs));
    row.block[b][0] = load_four(block.qs + 8 * b);
    row.block[b][1] = load_four(block.qs + 8 * b + 4);
    row.block[b][2] = spread_signs(signs);
  }
}
inline void from_row(const RowIq3S& row, BlockIQ3_S& block) noexcept {
  block.d = row.d;
  std::memcpy(block.scales, row.scales, sizeof(row.scales));
  std::memcpy(block.qh, row.high, sizeof(row.high));
  for (int b = 0; b < 8; ++b) {
    uint8_t signs[4];
    collect_signs(row.block[b][2], signs);
    std::memcpy(block.signs + 4 * b, signs, sizeof(signs));
    std::memcpy(block.qs + 8 * b, row.block[b], 8);
  }
}

inline void to_row(const BlockIQ1_S& block, RowIq1S& row) noexcept {
  row.d = block.d;
  std::memcpy(row.high, block.qh, sizeof(row.high));
  std::memcpy(row.index, block.qs, sizeof(row.index));
}
inline void from_row(const RowIq1S& row, BlockIQ1_S& block) noexcept {
  block.d = row.d;
  std::memcpy(block.qh, row.high, sizeof(row.high));
  std::memcpy(block.qs, row.index, sizeof(row.index));
}

inline void to_row(const BlockIQ1_M& block, RowIq1M& row) noexcept {
  std::memcpy(row.scales, block.scales, sizeof(row.scales));
  std::memcpy(row.high, block.qh, sizeof(row.high));
  std::memcpy(row.index, block.qs, sizeof(row.index));
}
inline void from_row(const RowIq1M& row, BlockIQ1_M& block) noexcept {
  std::memcpy(block.scales, row.scales, sizeof(row.scales));
  std::memcpy(block.qh, row.high, sizeof(row.high));
  std::memcpy(block.qs, row.index, sizeof(row.index));
}

/// Copies elements between a row struct and a unit: [count, 16] in the unit, stride 16 elements.
template <bool kToUnit, typename Element>
void move_field(Element* elements, uint64_t count, uint8_t*& unit, uint32_t row) noexcept {
  for (uint64_t i = 0; i < count; ++i) {
    uint8_t* place = unit + (i * kIntegerPanelRows + row) * sizeof(Element);
    if constexpr (kToUnit) {
      std::memcpy(place, elements + i, sizeof(Element));
    } else {
      std::memcpy(elements + i, place, sizeof(Element));
    }
  }
  unit += count * kIntegerPanelRows * sizeof(Element);
}
template <bool kToUnit, typename Row>
void move_row(Row& row, uint8_t* unit, uint32_t r) noexcept {
  if constexpr (requires { row.d; }) move_field<kToUnit>(&row.d, 1, unit, r);
  if constexpr (requires { row.scales; }) {
    move_field<kToUnit>(row.scales, std::size(row.scales), unit, r);
  }
  if constexpr (requires { row.high; }) move_field<kToUnit>(row.high, 8, unit, r);
  if constexpr (requires { row.index; }) move_field<kToUnit>(row.index, 8, unit, r);
  if constexpr (requires { row.block; }) {
    move_field<kToUnit>(row.block[0], sizeof(row.block) / 4, unit, r);
  }
}

template <typename Block, typename Row>
void put_codebook(const void* block, uint8_t* unit, uint32_t r) noexcept {
  Block copy;
  std::memcpy(&copy, block, sizeof(copy));
  Row row;
  to_row(copy, row);
  move_row<true>(row, unit, r);
}
template <typename Block, typename Row>
void get_codebook(const uint8_t* unit, uint32_t r, void* block) noexcept {
  Row row;
  move_row<false>(row, const_cast<uint8_t*>(unit), r);
  Block copy;
  from_row(row, copy);
  std::memcpy(block, &copy, sizeof(copy));
}

/// A panel takes exactly the bytes of its blocks.
template <typename Block, typename Row>
constexpr PanelFormat codebook_panel(Format format, PanelKind kind) {
  return {format,
          kind,
          kIntegerPanelRows,
          Block::kValues,
          kIntegerPanelRows * sizeof(Block),
          nullptr,
          nullptr,
          put_codebook<Block, Row>,
          get_codebook<Block, Row>};
}

}  // namespace
}  // namespace tenon::cpu
