// Packed weight layouts: the order of a weight's rows in memory for the kernels, and functions that
// pack rows and read single rows back. Each layout keeps exactly the information of its format.
//
// A panel holds 16 (integer) or 32 (float) consecutive rows, interleaved, so that one vector holds
// the same k of all rows and an output is one lane. Missing rows of the last panel are zero.
//
//   float panels    [depth][32] of f32, f16 or bf16. 16-bit values are followed by exponents for
//                   fixed-point kernels, u8[depth / 256, rounded up][32], and padding to 64 bytes:
//                   each of the 256 values is below 2^13 times 2^(e - 127); 255 if one is not
//                   finite. E4m3Group: scale f32[32], then codes u8[32 or 128][32]
//   integer panels  [panel blocks]; a panel block is one block or super-block of the format (32 or
//                   256 values of k) of all 16 rows:
//
//     Half      d f16[16]                              | quants
//     HalfMin   d f16[16], m f16[16]                   | quants
//     Super     d f16[16], dmin f16[16], scale u8[8][16], min u8[8][16] | quants x 8
//     U6Super   d f16[16], scale s8[16][16]            | quants x 8
//     Table4Half, Table4Super (d f16[16], scale s8[8][16]), Fp4 (e u8[16]), Fp4Quarter
//               (d u8[4][16] | quants x 2): U4 quants that index a table
//     U1Half    d f16[16] | quants x 4       U2Half  d f16[16] | quants x 2    U2Half256  x 8
//     U2Super   d f16[16], dmin f16[16], nibbles (low scale, high min) u8[16][16] | quants x 8
//     U3Super   d f16[16], scale s8[16][16]            | quants x 8
//     Codebooks are stored as levels instead of indices of points: tables that do not fit a
//     register are slow to look up. A word has eight scale nibbles, that of block 0 lowest; if a
//     block has two scales, the second word has the second ones.
//     Iq1S      d f16[16], nibbles u32[16] (scale; bit 3: the eighth is subtracted) | U2 x 8
//     Iq1M      d f16[16], scale nibbles u32[2][16], bits u32[16] (bit g: the eighth of values
//               8g .. 8g + 7 is added) | U2 x 8
//     Iq2Xxs    d f16[16], scale nibbles u32[16] | U3 x 8: level with the sign in bit 2
//     Iq2       d f16[16], scale nibbles u32[2][16] | U3 x 8: likewise
//     Iq3Xxs, Iq3S  d f16[16], scale nibbles u32[16] | U4 x 8: level with the sign in bit 3
//     U4Group   head u32[16] (quant/code_groups.h) | quants x 1, 2 or 4      S8Group  q - 128
//     U4Pair    heads u32[2][16] | quants x 1 or 2                           S8Pair   q - 128
//
//   quants of 32 values of k, for 16 rows; group g (0..7) is k = 4g .. 4g + 3 and byte 4r + j of a
//   64-byte vector belongs to row r, k = 4g + j:
//     S8   8 vectors: group g
//     U1   1 vector: bit g of byte 16j + r is row r, k = 4g + j
//     U2   2 vectors: bits 2 (g % 4) and up of vector g / 4 are group g
//     U3   3 vectors: group 2i in bits 0 to 2 and group 2i + 1 in bits 4 to 6 of vector i < 3;
//          bit j of groups 6 and 7 in bits 3 and 7 of vector j
//     U4   4 vectors: group 2i in the low nibbles, group 2i + 1 in the high ones
//     U5   U4, then 1 vector: bit g is bit 4 of group g
//     U6   U4, then 2 vectors: bits 2 (g % 4) and up of vector g / 4 are bits 4, 5 of group g
//
//   raw           the rows as they are in the file; decoded when used
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/kernels.h"
#include "quant/formats.h"

namespace tenon::cpu {

/// A block or super-block of a row in plain integers: value k = scale(k) * (q[k] - bias) - min(k).
struct BlockValues {
  uint16_t d = 0;    ///< f16
  uint16_t min = 0;  ///< f16: m or dmin
  uint8_t scales[16] = {};
  uint8_t mins[8] = {};
  uint8_t q[256] = {};
};

/// The packing of a format.
struct PanelFormat {
  Format format;
  PanelKind kind;
  uint32_t panel_rows;
  uint32_t block_values;  ///< values of k per panel block; 1 for float panels
  uint32_t block_bytes;   ///< bytes of a panel block
  /// Integer panels: unpacks a block of the format; computes its f32 values.
  void (*extract)(const void* block, BlockValues& plain) noexcept;
  void (*values)(const BlockValues& plain, float* out) noexcept;
};

/// The packed layout of a format; raw_panels() if it has none.
const PanelFormat& panel_format(Format format) noexcept;
/// Likewise; raw_panels(), which are read with f32, if the kernels ask for that.
const PanelFormat& panel_format(Format format, const Kernels& kernels) noexcept;

/// Format of activations multiplied with a weight [., depth]; 0 means f32.
ActivationFormat activation_format(Format format, uint64_t depth, const Kernels& kernels) noexcept;

/// True if weights of this layout use fixed point, for rows of whole blocks.
bool is_fixed_point(const PanelFormat& layout, const Kernels& kernels) noexcept;

/// Rows in the file's layout, for tables that are only looked up.
const PanelFormat& raw_panels() noexcept;

/// Bytes of a panel with `depth` values of k.
uint64_t panel_bytes(const PanelFormat& layout, uint64_t depth) noexcept;
/// Bytes of a packed weight [rows, depth].
uint64_t packed_bytes(const PanelFormat& layout, const FormatInfo& format, uint64_t rows,
                      uint64_t depth) noexcept;

/// A packed weight [rows, depth]. Does not own the memory.
struct PackedWeight {
  const PanelFormat* layout = nullptr;
  const FormatInfo* format = nullptr;
  uint64_t rows = 0;
  uint64_t depth = 0;
  uint8_t* data = nullptr;
};

/// Packs rows [first_row, first_row + num_rows); first_row is a multiple of panel_rows. Disjoint
/// panels may be packed in parallel.
void pack_rows(const PackedWeight& weight, uint64_t first_row, uint64_t num_rows,
               const uint8_t* blocks) noexcept;
/// Decodes row `row` to f32 [depth], exactly as the format defines.
void unpack_row(const PackedWeight& weight, uint64_t row, float* out) noexcept;

}  // namespace tenon::cpu
