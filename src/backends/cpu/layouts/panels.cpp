#include "backends/cpu/layouts/panels.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backends/cpu/kernels/block_values.h"
#include "backends/cpu/kernels/group_values.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kRows = kIntegerPanelRows;
constexpr uint32_t kGroupBytes = 64;  // one group of 4 values of k in 16 rows

enum class Quants { S8, U1, U2, U3, U4, U5, U6 };

/// Offsets of the parts of an integer panel block.
struct PanelBlockShape {
  Quants quants;
  uint32_t halves;  // f16[16] vectors at the start: d, min
  uint32_t scales;  // u8[16] vectors after them
  uint32_t mins;    // u8[16] vectors after those
  uint32_t blocks;  // 32-value blocks
  /// Groups four scale bytes, or minima, of a row.
  bool words = false;
};

constexpr uint32_t quant_bytes(Quants quants) {
  switch (quants) {
    case Quants::U1:
      return kGroupBytes;
    case Quants::U2:
      return 2 * kGroupBytes;
    case Quants::U3:
      return 3 * kGroupBytes;
    case Quants::U4:
      return 4 * kGroupBytes;
    case Quants::U5:
      return 5 * kGroupBytes;
    case Quants::U6:
      return 6 * kGroupBytes;
    case Quants::S8:
      return 8 * kGroupBytes;
  }
  return 0;
}

struct KindShape {
  PanelKind kind;
  PanelBlockShape shape;
};
constexpr KindShape kShapes[] = {
    {PanelKind::U4Half, {Quants::U4, 1, 0, 0, 1}},
    {PanelKind::U4HalfMin, {Quants::U4, 2, 0, 0, 1}},
    {PanelKind::U5Half, {Quants::U5, 1, 0, 0, 1}},
    {PanelKind::U5HalfMin, {Quants::U5, 2, 0, 0, 1}},
    {PanelKind::S8Half, {Quants::S8, 1, 0, 0, 1}},
    {PanelKind::U4Super, {Quants::U4, 2, 8, 8, 8}},
    {PanelKind::U5Super, {Quants::U5, 2, 8, 8, 8}},
    {PanelKind::U6Super, {Quants::U6, 1, 16, 0, 8}},
    {PanelKind::U1Half, {Quants::U1, 1, 0, 0, 4}},
    {PanelKind::U2Half, {Quants::U2, 1, 0, 0, 2}},
    {PanelKind::U2Half256, {Quants::U2, 1, 0, 0, 8}},
    {PanelKind::U2Super, {Quants::U2, 2, 16, 0, 8}},
    {PanelKind::U3Super, {Quants::U3, 1, 16, 0, 8}},
    {PanelKind::Table4Half, {Quants::U4, 1, 0, 0, 1}},
    {PanelKind::Table4Super, {Quants::U4, 1, 8, 0, 8}},
    {PanelKind::Iq1S, {Quants::U2, 1, 4, 0, 8, true}},
    {PanelKind::Iq1M, {Quants::U2, 1, 8, 4, 8, true}},
    {PanelKind::Iq2Xxs, {Quants::U3, 1, 4, 0, 8, true}},
    {PanelKind::Iq2, {Quants::U3, 1, 8, 0, 8, true}},
    {PanelKind::Iq3Xxs, {Quants::U4, 1, 4, 0, 8, true}},
    {PanelKind::Iq3S, {Quants::U4, 1, 4, 0, 8, true}},
    {PanelKind::Fp4, {Quants::U4, 0, 1, 0, 1}},
    {PanelKind::Fp4Quarter, {Quants::U4, 0, 4, 0, 2}},
    {PanelKind::U4Group32, {Quants::U4, 0, 4, 0, 1, true}},
    {PanelKind::U4Group64, {Quants::U4, 0, 4, 0, 2, true}},
    {PanelKind::U4Group128, {Quants::U4, 0, 4, 0, 4, true}},
    {PanelKind::S8Group, {Quants::S8, 0, 4, 0, 1, true}},
    {PanelKind::U4Pair32, {Quants::U4, 0, 8, 0, 1, true}},
    {PanelKind::U4Pair64, {Quants::U4, 0, 8, 0, 2, true}},
    {PanelKind::S8Pair, {Quants::S8, 0, 8, 0, 1, true}},
};

constexpr PanelBlockShape panel_block_shape(PanelKind kind) {
  for (const KindShape& entry : kShapes) {
    if (entry.kind == kind) return entry.shape;
  }
  return {Quants::U4, 0, 0, 0, 0};
}

/// Offsets of the scale bytes and the quants in a panel block.
constexpr uint32_t scales_offset(const PanelBlockShape& shape) { return shape.halves * kRows * 2; }
constexpr uint32_t quants_offset(const PanelBlockShape& shape) {
  return scales_offset(shape) + (shape.scales + shape.mins) * kRows;
}
/// Offset of scale byte `s` of a row after scales_offset(); minima follow scales.
constexpr uint32_t scale_at(const PanelBlockShape& shape, uint32_t s, uint32_t row) {
  return shape.words ? s / 4 * 4 * kRows + 4 * row + s % 4 : s * kRows + row;
}
constexpr uint32_t block_bytes(PanelKind kind) {
  const PanelBlockShape shape = panel_block_shape(kind);
  return quants_offset(shape) + shape.blocks * quant_bytes(shape.quants);
}

template <typename Block>
void extract_as(const void* block, BlockValues& panel_block) noexcept {
  Block copy;
  std::memcpy(&copy, block, sizeof(copy));
  extract(copy, panel_block);
}

template <typename Block>
constexpr PanelFormat integer_panel(Format format, PanelKind kind,
                                    void (*values)(const BlockValues&, float*) noexcept) {
  return {format, kind, kRows, Block::kValues, block_bytes(kind), extract_as<Block>, values};
}

template <typename Block>
constexpr PanelFormat e4m3_panel(Format format, PanelKind kind) {
  return {format,
          kind,
          kFloatPanelRows,
          Block::kValues,
          kFloatPanelRows * (sizeof(float) + Block::kValues),
          nullptr,
          nullptr};
}

constexpr PanelFormat kPanels[] = {
    {Format::F32, PanelKind::F32, kFloatPanelRows, 1, 4 * kFloatPanelRows, nullptr, nullptr},
    {Format::F16, PanelKind::F16, kFloatPanelRows, 1, 2 * kFloatPanelRows, nullptr, nullptr},
    {Format::BF16, PanelKind::BF16, kFloatPanelRows, 1, 2 * kFloatPanelRows, nullptr, nullptr},
    e4m3_panel<BlockF8G32>(Format::F8G32, PanelKind::E4m3Group32),
    e4m3_panel<BlockF8G128>(Format::F8G128, PanelKind::E4m3Group128),
    integer_panel<BlockQ4_0>(Format::Q4_0, PanelKind::U4Half, values_half<8>),
    integer_panel<BlockQ4_1>(Format::Q4_1, PanelKind::U4HalfMin, values_half_min),
    integer_panel<BlockQ5_0>(Format::Q5_0, PanelKind::U5Half, values_half<16>),
    integer_panel<BlockQ5_1>(Format::Q5_1, PanelKind::U5HalfMin, values_half_min),
    integer_panel<BlockQ8_0>(Format::Q8_0, PanelKind::S8Half, values_signed),
    integer_panel<BlockQ4_K>(Format::Q4_K, PanelKind::U4Super, values_super),
    integer_panel<BlockQ5_K>(Format::Q5_K, PanelKind::U5Super, values_super),
    integer_panel<BlockQ6_K>(Format::Q6_K, PanelKind::U6Super, values_super6),
    integer_panel<BlockQ1_0>(Format::Q1_0, PanelKind::U1Half, values_sign),
    integer_panel<BlockQ2_0>(Format::Q2_0, PanelKind::U2Half, values_from_minus_1<64>),
    integer_panel<BlockTQ2_0>(Format::TQ2_0, PanelKind::U2Half256, values_from_minus_1<256>),
    integer_panel<BlockTQ1_0>(Format::TQ1_0, PanelKind::U2Half256, values_from_minus_1<256>),
    integer_panel<BlockQ2_K>(Format::Q2_K, PanelKind::U2Super, values_super2),
    integer_panel<BlockQ3_K>(Format::Q3_K, PanelKind::U3Super, values_super3),
    integer_panel<BlockIQ4_NL>(Format::IQ4_NL, PanelKind::Table4Half, values_iq4_nl),
    integer_panel<BlockIQ4_XS>(Format::IQ4_XS, PanelKind::Table4Super, values_iq4_xs),
    integer_panel<BlockMXFP4>(Format::MXFP4, PanelKind::Fp4, values_mxfp4),
    integer_panel<BlockNVFP4>(Format::NVFP4, PanelKind::Fp4Quarter, values_nvfp4),
    integer_panel<BlockIQ2_XXS>(Format::IQ2_XXS, PanelKind::Iq2Xxs, values_iq2_xxs),
    integer_panel<BlockIQ2_XS>(Format::IQ2_XS, PanelKind::Iq2, values_iq2),
    integer_panel<BlockIQ2_S>(Format::IQ2_S, PanelKind::Iq2, values_iq2),
    integer_panel<BlockIQ3_XXS>(Format::IQ3_XXS, PanelKind::Iq3Xxs, values_iq3_xxs),
    integer_panel<BlockIQ3_S>(Format::IQ3_S, PanelKind::Iq3S, values_iq3_s),
    integer_panel<BlockIQ1_S>(Format::IQ1_S, PanelKind::Iq1S, values_iq1_s),
    integer_panel<BlockIQ1_M>(Format::IQ1_M, PanelKind::Iq1M, values_iq1_m),
    integer_panel<BlockU4G32>(Format::U4G32, PanelKind::U4Group32, values_codes<BlockU4G32>),
    integer_panel<BlockU4G64>(Format::U4G64, PanelKind::U4Group64, values_codes<BlockU4G64>),
    integer_panel<BlockU4G128>(Format::U4G128, PanelKind::U4Group128, values_codes<BlockU4G128>),
    integer_panel<BlockU8G32>(Format::U8G32, PanelKind::S8Group, values_codes<BlockU8G32>),
    integer_panel<BlockU4P32>(Format::U4P32, PanelKind::U4Pair32, values_codes<BlockU4P32>),
    integer_panel<BlockU4P64>(Format::U4P64, PanelKind::U4Pair64, values_codes<BlockU4P64>),
    integer_panel<BlockU8P32>(Format::U8P32, PanelKind::S8Pair, values_codes<BlockU8P32>),
};

// Rows stay in the file's layout; a panel is 32 rows.
constexpr PanelFormat kRaw = {Format::F32, PanelKind::Raw, kFloatPanelRows, 0, 0, nullptr, nullptr};

/// Four k values of group g of a row, a byte each, as one word.
uint32_t load_word(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}
void store_word(uint8_t* p, uint32_t word) { std::memcpy(p, &word, sizeof(word)); }
void or_word(uint8_t* p, uint32_t word) { store_word(p, load_word(p) | word); }

/// Offset of a row's word in 64-byte vector `vector` of a block's quants.
constexpr uint64_t at(uint32_t vector, uint32_t row) {
  return static_cast<uint64_t>(vector) * kGroupBytes + 4 * row;
}

constexpr uint32_t kEachNibble = 0x0F0F0F0F;
constexpr uint32_t kEachBit = 0x01010101;
constexpr uint32_t kEachTwoBits = 0x03030303;
constexpr uint32_t kEachThreeBits = 0x07070707;

template <Quants kKind>
void put_quants_of(uint8_t* quants, uint32_t row, const uint8_t* q) noexcept {
  for (uint32_t group = 0; group < 8; ++group) {
    const uint32_t word = load_word(q + 4 * group);
    if (kKind == Quants::S8) {
      store_word(quants + at(group, row), word);
      continue;
    }
    if (kKind == Quants::U1) {
      for (uint32_t j = 0; j < 4; ++j) {
        uint8_t& signs = quants[j * kRows + row];
        signs = static_cast<uint8_t>(signs | (q[4 * group + j] & 1) << group);
      }
      continue;
    }
    if (kKind == Quants::U2) {
      or_word(quants + at(group / 4, row), (word & kEachTwoBits) << (group % 4 * 2));
      continue;
    }
    if (kKind == Quants::U3) {
      const uint32_t place = group % 2 * 4;
      if (group < 6) {
        or_word(quants + at(group / 2, row), (word & kEachThreeBits) << place);
      } else {
        for (uint32_t bit = 0; bit < 3; ++bit) {
          or_word(quants + at(bit, row), (word >> bit & kEachBit) << (place + 3));
        }
      }
      continue;
    }
    or_word(quants + at(group / 2, row), (word & kEachNibble) << (group % 2 * 4));
    const uint32_t high = word >> 4;
    if (kKind == Quants::U5) or_word(quants + at(4, row), (high & kEachBit) << group);
    if (kKind == Quants::U6) {
      or_word(quants + at(4 + group / 4, row), (high & kEachTwoBits) << (group % 4 * 2));
    }
  }
}

/// One loop per kind: packing keeps up with reading the file.
void put_quants(Quants kind, uint8_t* quants, uint32_t row, const uint8_t* q) noexcept {
  switch (kind) {
    case Quants::U1:
      return put_quants_of<Quants::U1>(quants, row, q);
    case Quants::U2:
      return put_quants_of<Quants::U2>(quants, row, q);
    case Quants::U3:
      return put_quants_of<Quants::U3>(quants, row, q);
    case Quants::U4:
      return put_quants_of<Quants::U4>(quants, row, q);
    case Quants::U5:
      return put_quants_of<Quants::U5>(quants, row, q);
    case Quants::U6:
      return put_quants_of<Quants::U6>(quants, row, q);
    case Quants::S8:
      return put_quants_of<Quants::S8>(quants, row, q);
  }
}

void get_quants(Quants kind, const uint8_t* quants, uint32_t row, uint8_t* q) noexcept {
  for (uint32_t group = 0; group < 8; ++group) {
    if (kind == Quants::S8) {
      store_word(q + 4 * group, load_word(quants + at(group, row)));
      continue;
    }
    if (kind == Quants::U1) {
      for (uint32_t j = 0; j < 4; ++j) q[4 * group + j] = quants[j * kRows + row] >> group & 1;
      continue;
    }
    if (kind == Quants::U2) {
      store_word(q + 4 * group,
                 load_word(quants + at(group / 4, row)) >> (group % 4 * 2) & kEachTwoBits);
      continue;
    }
    if (kind == Quants::U3) {
      const uint32_t place = group % 2 * 4;
      uint32_t word = 0;
      if (group < 6) {
        word = load_word(quants + at(group / 2, row)) >> place & kEachThreeBits;
      } else {
        for (uint32_t bit = 0; bit < 3; ++bit) {
          word |= (load_word(quants + at(bit, row)) >> (place + 3) & kEachBit) << bit;
        }
      }
      store_word(q + 4 * group, word);
      continue;
    }
    uint32_t word = load_word(quants + at(group / 2, row)) >> (group % 2 * 4) & kEachNibble;
    if (kind == Quants::U5) word |= (load_word(quants + at(4, row)) >> group & kEachBit) << 4;
    if (kind == Quants::U6) {
      const uint32_t plane = load_word(quants + at(4 + group / 4, row));
      word |= (plane >> (group % 4 * 2) & kEachTwoBits) << 4;
    }
    store_word(q + 4 * group, word);
  }
}

void put_block(const PanelFormat& layout, uint8_t* panel_block, uint32_t row,
               const BlockValues& values) noexcept {
  const PanelBlockShape shape = panel_block_shape(layout.kind);
  if (shape.halves > 0) std::memcpy(panel_block + 2 * row, &values.d, 2);
  if (shape.halves == 2) std::memcpy(panel_block + 2 * (kRows + row), &values.min, 2);
  uint8_t* bytes = panel_block + scales_offset(shape);
  for (uint32_t s = 0; s < shape.scales; ++s) bytes[scale_at(shape, s, row)] = values.scales[s];
  for (uint32_t s = 0; s < shape.mins; ++s) {
    bytes[scale_at(shape, shape.scales + s, row)] = values.mins[s];
  }
  uint8_t* quants = panel_block + quants_offset(shape);
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    put_quants(shape.quants, quants + b * quant_bytes(shape.quants), row,
               values.q + b * kActivationBlock);
  }
}

void get_block(const PanelFormat& layout, uint8_t* panel_block, uint32_t row,
               BlockValues& values) noexcept {
  const PanelBlockShape shape = panel_block_shape(layout.kind);
  if (shape.halves > 0) std::memcpy(&values.d, panel_block + 2 * row, 2);
  if (shape.halves == 2) std::memcpy(&values.min, panel_block + 2 * (kRows + row), 2);
  const uint8_t* bytes = panel_block + scales_offset(shape);
  for (uint32_t s = 0; s < shape.scales && s < std::size(values.scales); ++s) {
    values.scales[s] = bytes[scale_at(shape, s, row)];
  }
  for (uint32_t s = 0; s < shape.mins && s < std::size(values.mins); ++s) {
    values.mins[s] = bytes[scale_at(shape, shape.scales + s, row)];
  }
  const uint8_t* quants = panel_block + quants_offset(shape);
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    get_quants(shape.quants, quants + b * quant_bytes(shape.quants), row,
               values.q + b * kActivationBlock);
  }
}

/// A float panel is [depth][32]. Transposes rows in chunks whose panel part stays in the
/// first-level cache.
template <typename Element>
void put_float_rows(const PackedWeight& w, uint64_t first_row, uint64_t num_rows,
                    const uint8_t* blocks) noexcept {
  constexpr uint64_t kChunk = 128;
  uint8_t* panel = w.data + first_row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  for (uint64_t k0 = 0; k0 < w.depth; k0 += kChunk) {
    const uint64_t end = k0 + kChunk < w.depth ? k0 + kChunk : w.depth;
    for (uint64_t r = 0; r < num_rows; ++r) {
      const uint8_t* row = blocks + r * w.depth * sizeof(Element);
      uint8_t* column = panel + (first_row % kFloatPanelRows + r) * sizeof(Element);
      for (uint64_t k = k0; k < end; ++k) {
        std::memcpy(column + k * kFloatPanelRows * sizeof(Element), row + k * sizeof(Element),
                    sizeof(Element));
      }
    }
  }
}

/// Bit layout of 16-bit floats.
struct HalfFormat {
  int mantissa_bits;
  int largest_exponent;  ///< exponent of infinities and NaN
  int f32_exponent;      ///< f32 exponent minus this one: the difference of the biases
};
constexpr HalfFormat kF16Bits{10, 31, 127 - 15};
constexpr HalfFormat kBf16Bits{7, 255, 0};

/// Writes the exponents of rows of an f16 or bf16 panel.
void put_exponents(const PackedWeight& w, const HalfFormat& bits, uint64_t first_row,
                   uint64_t num_rows, const uint8_t* blocks) noexcept {
  constexpr int kFixedBits = 13;
  constexpr int kBroken = 255;
  uint8_t* panel = w.data + first_row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  uint8_t* exponents = panel + w.depth * w.layout->block_bytes + first_row % kFloatPanelRows;
  for (uint64_t k = 0; k < w.depth; k += kExponentDepth, exponents += kFloatPanelRows) {
    const uint64_t depth = std::min<uint64_t>(w.depth - k, kExponentDepth);
    for (uint64_t r = 0; r < num_rows; ++r) {
      uint16_t values[kExponentDepth];
      std::memcpy(values, blocks + (r * w.depth + k) * sizeof(uint16_t), depth * sizeof(uint16_t));
      // Magnitudes order like their bits; signed compares have instructions.
      int16_t largest = 0;
      for (uint64_t i = 0; i < depth; ++i) {
        largest = std::max(largest, static_cast<int16_t>(values[i] & 0x7FFF));
      }
      const int exponent = largest >> bits.mantissa_bits;
      const int of_f32 = exponent + bits.f32_exponent;  // below 2^(of_f32 + 1 - bias)
      exponents[r] = static_cast<uint8_t>(
          exponent == bits.largest_exponent ? kBroken : std::max(of_f32 + 1 - kFixedBits, 1));
    }
  }
}

/// Offset of a row's codes in a panel block of e4m3; those of the next k lie kFloatPanelRows bytes
/// further.
constexpr uint64_t e4m3_codes(uint64_t row) { return kFloatPanelRows * sizeof(float) + row; }

template <typename Block>
void put_e4m3_row(const PackedWeight& w, uint64_t row, const uint8_t* blocks) noexcept {
  uint8_t* panel_block = w.data + row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  const uint64_t r = row % kFloatPanelRows;
  for (uint64_t u = 0; u < w.depth / Block::kValues; ++u) {
    Block block;
    std::memcpy(&block, blocks + u * sizeof(Block), sizeof(block));
    for (uint32_t k = 0; k < Block::kValues; ++k) {
      panel_block[e4m3_codes(r) + k * kFloatPanelRows] = block.qs[k];
    }
    std::memcpy(panel_block + r * sizeof(float), block.scale, sizeof(float));
    panel_block += w.layout->block_bytes;
  }
}

template <typename Block>
void unpack_e4m3_row(const PackedWeight& w, uint64_t row, float* out) noexcept {
  const uint8_t* panel_block = w.data + row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  const uint64_t r = row % kFloatPanelRows;
  for (uint64_t u = 0; u < w.depth / Block::kValues; ++u, out += Block::kValues) {
    Block block;
    std::memcpy(block.scale, panel_block + r * sizeof(float), sizeof(float));
    for (uint32_t k = 0; k < Block::kValues; ++k) {
      block.qs[k] = panel_block[e4m3_codes(r) + k * kFloatPanelRows];
    }
    decode(block, out);
    panel_block += w.layout->block_bytes;
  }
}

void unpack_float_row(const PackedWeight& w, uint64_t row, float* out) noexcept {
  const uint64_t size = w.format->block_bytes;
  const uint8_t* panel = w.data + row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  for (uint64_t k = 0; k < w.depth; ++k) {
    w.format->decode_row(panel + (k * kFloatPanelRows + row % kFloatPanelRows) * size, out + k, 1);
  }
}

void put_integer_row(const PackedWeight& w, uint64_t row, const uint8_t* blocks) noexcept {
  uint8_t* panel = w.data + row / kRows * panel_bytes(*w.layout, w.depth);
  BlockValues values;
  for (uint64_t u = 0; u < w.depth / w.layout->block_values; ++u) {
    w.layout->extract(blocks + u * w.format->block_bytes, values);
    put_block(*w.layout, panel + u * w.layout->block_bytes, static_cast<uint32_t>(row % kRows),
              values);
  }
}

void unpack_integer_row(const PackedWeight& w, uint64_t row, float* out) noexcept {
  uint8_t* panel = w.data + row / kRows * panel_bytes(*w.layout, w.depth);
  BlockValues values;
  for (uint64_t u = 0; u < w.depth / w.layout->block_values; ++u) {
    get_block(*w.layout, panel + u * w.layout->block_bytes, static_cast<uint32_t>(row % kRows),
              values);
    w.layout->values(values, out + u * w.layout->block_values);
  }
}

}  // namespace

const PanelFormat& panel_format(Format format) noexcept {
  for (const PanelFormat& panel : kPanels) {
    if (panel.format == format) return panel;
  }
  return kRaw;
}

const PanelFormat& panel_format(Format format, const Kernels& kernels) noexcept {
  const PanelFormat& layout = panel_format(format);
  const bool is_code = is_memory_format(format) || format == Format::MXFP4;
  const bool has_bytes = layout.panel_rows == kIntegerPanelRows;  // of activations
  return is_code && has_bytes && kernels.float_codes ? kRaw : layout;
}

ActivationFormat activation_format(Format format, uint64_t depth, const Kernels& kernels) noexcept {
  const PanelFormat& layout = panel_format(format, kernels);
  if (layout.panel_rows == kIntegerPanelRows) return kActivationBytes;
  return is_fixed_point(layout, kernels) && has_fixed_point(depth) ? kActivationFixed : 0;
}

bool is_fixed_point(const PanelFormat& layout, const Kernels& kernels) noexcept {
  return (layout.kind == PanelKind::BF16 && kernels.fixed_bf16) ||
         (layout.kind == PanelKind::F16 && kernels.fixed_f16);
}

const PanelFormat& raw_panels() noexcept { return kRaw; }

uint64_t panel_bytes(const PanelFormat& layout, uint64_t depth) noexcept {
  if (layout.kind == PanelKind::Raw) return 0;
  const uint64_t bytes = depth / layout.block_values * layout.block_bytes;
  if (layout.kind != PanelKind::F16 && layout.kind != PanelKind::BF16) return bytes;
  const uint64_t exponents = (depth + kExponentDepth - 1) / kExponentDepth * kFloatPanelRows;
  return bytes + CacheBlock::round_up(exponents, 2 * kFloatPanelRows);  // whole cache lines
}

uint64_t packed_bytes(const PanelFormat& layout, const FormatInfo& format, uint64_t rows,
                      uint64_t depth) noexcept {
  if (layout.kind == PanelKind::Raw)
    return rows * (depth / format.block_values * format.block_bytes);
  return (rows + layout.panel_rows - 1) / layout.panel_rows * panel_bytes(layout, depth);
}

void pack_rows(const PackedWeight& weight, uint64_t first_row, uint64_t num_rows,
               const uint8_t* blocks) noexcept {
  const uint64_t row_bytes =
      weight.depth / weight.format->block_values * weight.format->block_bytes;
  if (weight.layout->kind == PanelKind::Raw) {
    std::memcpy(weight.data + first_row * row_bytes, blocks, num_rows * row_bytes);
    return;
  }
  const auto put_each = [&](auto put) {
    for (uint64_t i = 0; i < num_rows; ++i) put(weight, first_row + i, blocks + i * row_bytes);
  };
  if (weight.layout->panel_rows == kIntegerPanelRows) return put_each(put_integer_row);
  if (weight.layout->kind == PanelKind::E4m3Group32) return put_each(put_e4m3_row<BlockF8G32>);
  if (weight.layout->kind == PanelKind::E4m3Group128) return put_each(put_e4m3_row<BlockF8G128>);
  for (uint64_t i = 0; i < num_rows;) {
    const uint64_t left = kFloatPanelRows - (first_row + i) % kFloatPanelRows;
    const uint64_t count = num_rows - i < left ? num_rows - i : left;
    if (weight.layout->kind == PanelKind::F32) {
      put_float_rows<uint32_t>(weight, first_row + i, count, blocks + i * row_bytes);
    } else {
      put_float_rows<uint16_t>(weight, first_row + i, count, blocks + i * row_bytes);
    }
    if (weight.layout->kind == PanelKind::F16) {
      put_exponents(weight, kF16Bits, first_row + i, count, blocks + i * row_bytes);
    } else if (weight.layout->kind == PanelKind::BF16) {
      put_exponents(weight, kBf16Bits, first_row + i, count, blocks + i * row_bytes);
    }
    i += count;
  }
}

void unpack_row(const PackedWeight& weight, uint64_t row, float* out) noexcept {
  if (weight.layout->kind == PanelKind::Raw) {
    const uint64_t row_bytes =
        weight.depth / weight.format->block_values * weight.format->block_bytes;
    weight.format->decode_row(weight.data + row * row_bytes, out, weight.depth);
  } else if (weight.layout->panel_rows == kIntegerPanelRows) {
    unpack_integer_row(weight, row, out);
  } else if (weight.layout->kind == PanelKind::E4m3Group32) {
    unpack_e4m3_row<BlockF8G32>(weight, row, out);
  } else if (weight.layout->kind == PanelKind::E4m3Group128) {
    unpack_e4m3_row<BlockF8G128>(weight, row, out);
  } else {
    unpack_float_row(weight, row, out);
  }
}

}  // namespace tenon::cpu
