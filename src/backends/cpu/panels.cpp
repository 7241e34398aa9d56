#include "backends/cpu/panels.h"

#include <cstring>

#include "backends/cpu/panel_units.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kRows = kIntegerPanelRows;
constexpr uint32_t kGroupBytes = 64;  // one group of 4 values of k in 16 rows

enum class Quants { S8, U4, U5, U6 };

/// Where the parts of a unit of an integer panel lie.
struct UnitShape {
  Quants quants;
  uint32_t halves;       // f16[16] vectors at the start
  uint32_t scale_bytes;  // u8[16] vectors after them, in bytes
  uint32_t blocks;       // 32-value blocks
};

constexpr uint32_t quant_bytes(Quants quants) {
  switch (quants) {
    case Quants::S8:
      return 8 * kGroupBytes;
    case Quants::U4:
      return 4 * kGroupBytes;
    case Quants::U5:
      return 5 * kGroupBytes;
    case Quants::U6:
      return 6 * kGroupBytes;
  }
  return 0;
}

constexpr UnitShape unit_shape(PanelKind kind) {
  switch (kind) {
    case PanelKind::U4Half:
      return {Quants::U4, 1, 0, 1};
    case PanelKind::U4HalfMin:
      return {Quants::U4, 2, 0, 1};
    case PanelKind::U5Half:
      return {Quants::U5, 1, 0, 1};
    case PanelKind::U5HalfMin:
      return {Quants::U5, 2, 0, 1};
    case PanelKind::S8Half:
      return {Quants::S8, 1, 0, 1};
    case PanelKind::U4Super:
      return {Quants::U4, 2, 16 * kRows, 8};
    case PanelKind::U5Super:
      return {Quants::U5, 2, 16 * kRows, 8};
    case PanelKind::U6Super:
      return {Quants::U6, 1, 16 * kRows, 8};
    default:
      return {Quants::U4, 0, 0, 0};
  }
}

constexpr uint32_t unit_bytes(PanelKind kind) {
  const UnitShape shape = unit_shape(kind);
  return shape.halves * kRows * 2 + shape.scale_bytes + shape.blocks * quant_bytes(shape.quants);
}

template <typename Block>
void extract_as(const void* block, UnitValues& unit) noexcept {
  Block copy;
  std::memcpy(&copy, block, sizeof(copy));
  extract(copy, unit);
}

template <typename Block>
constexpr PanelFormat integer_panel(Format format, PanelKind kind,
                                    void (*values)(const UnitValues&, float*) noexcept) {
  return {format, kind, kRows, Block::kValues, unit_bytes(kind), extract_as<Block>, values};
}

constexpr PanelFormat kPanels[] = {
    {Format::F32, PanelKind::F32, kFloatPanelRows, 1, 4 * kFloatPanelRows, nullptr, nullptr},
    {Format::F16, PanelKind::F16, kFloatPanelRows, 1, 2 * kFloatPanelRows, nullptr, nullptr},
    {Format::BF16, PanelKind::BF16, kFloatPanelRows, 1, 2 * kFloatPanelRows, nullptr, nullptr},
    integer_panel<BlockQ4_0>(Format::Q4_0, PanelKind::U4Half, values_half<8>),
    integer_panel<BlockQ4_1>(Format::Q4_1, PanelKind::U4HalfMin, values_half_min),
    integer_panel<BlockQ5_0>(Format::Q5_0, PanelKind::U5Half, values_half<16>),
    integer_panel<BlockQ5_1>(Format::Q5_1, PanelKind::U5HalfMin, values_half_min),
    integer_panel<BlockQ8_0>(Format::Q8_0, PanelKind::S8Half, values_signed),
    integer_panel<BlockQ4_K>(Format::Q4_K, PanelKind::U4Super, values_super),
    integer_panel<BlockQ5_K>(Format::Q5_K, PanelKind::U5Super, values_super),
    integer_panel<BlockQ6_K>(Format::Q6_K, PanelKind::U6Super, values_super6),
};

// Rows stay as they are in the file; a panel is 32 of them.
constexpr PanelFormat kRaw = {Format::F32, PanelKind::Raw, kFloatPanelRows, 0, 0, nullptr, nullptr};

/// The four values of k of group g of one row, a byte each, as one word.
uint32_t load_word(const uint8_t* p) {
  uint32_t word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}
void store_word(uint8_t* p, uint32_t word) { std::memcpy(p, &word, sizeof(word)); }
void or_word(uint8_t* p, uint32_t word) { store_word(p, load_word(p) | word); }

/// Where the word of a row lies in 64-byte vector `vector` of a block's quants.
constexpr uint64_t at(uint32_t vector, uint32_t row) {
  return static_cast<uint64_t>(vector) * kGroupBytes + 4 * row;
}

constexpr uint32_t kEachNibble = 0x0F0F0F0F;
constexpr uint32_t kEachBit = 0x01010101;
constexpr uint32_t kEachTwoBits = 0x03030303;

void put_quants(Quants kind, uint8_t* quants, uint32_t row, const uint8_t* q) noexcept {
  for (uint32_t group = 0; group < 8; ++group) {
    const uint32_t word = load_word(q + 4 * group);
    if (kind == Quants::S8) {
      store_word(quants + at(group, row), word);
      continue;
    }
    or_word(quants + at(group / 2, row), (word & kEachNibble) << (group % 2 * 4));
    const uint32_t high = word >> 4;
    if (kind == Quants::U5) or_word(quants + at(4, row), (high & kEachBit) << group);
    if (kind == Quants::U6) {
      or_word(quants + at(4 + group / 4, row), (high & kEachTwoBits) << (group % 4 * 2));
    }
  }
}

void get_quants(Quants kind, const uint8_t* quants, uint32_t row, uint8_t* q) noexcept {
  for (uint32_t group = 0; group < 8; ++group) {
    if (kind == Quants::S8) {
      store_word(q + 4 * group, load_word(quants + at(group, row)));
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

uint8_t* part_quants(const UnitShape& shape, uint8_t* unit, uint32_t block) {
  return unit + shape.halves * kRows * 2 + shape.scale_bytes + block * quant_bytes(shape.quants);
}

void put_unit(const PanelFormat& layout, uint8_t* unit, uint32_t row,
              const UnitValues& values) noexcept {
  const UnitShape shape = unit_shape(layout.kind);
  std::memcpy(unit + 2 * row, &values.d, 2);
  if (shape.halves == 2) std::memcpy(unit + 2 * (kRows + row), &values.min, 2);
  uint8_t* scales = unit + shape.halves * kRows * 2;
  for (uint32_t s = 0; s < shape.scale_bytes / kRows; ++s) {
    const bool minimum = shape.halves == 2 && s >= 8;
    scales[s * kRows + row] = minimum ? values.mins[s - 8] : values.scales[s];
  }
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    put_quants(shape.quants, part_quants(shape, unit, b), row, values.q + b * kActivationBlock);
  }
}

void get_unit(const PanelFormat& layout, uint8_t* unit, uint32_t row, UnitValues& values) noexcept {
  const UnitShape shape = unit_shape(layout.kind);
  std::memcpy(&values.d, unit + 2 * row, 2);
  if (shape.halves == 2) std::memcpy(&values.min, unit + 2 * (kRows + row), 2);
  const uint8_t* scales = unit + shape.halves * kRows * 2;
  for (uint32_t s = 0; s < shape.scale_bytes / kRows; ++s) {
    const bool minimum = shape.halves == 2 && s >= 8;
    (minimum ? values.mins[s - 8] : values.scales[s]) = scales[s * kRows + row];
  }
  for (uint32_t b = 0; b < shape.blocks; ++b) {
    get_quants(shape.quants, part_quants(shape, unit, b), row, values.q + b * kActivationBlock);
  }
}

/// A float panel is [depth][32]. Rows are transposed in pieces whose panel part stays in the
/// first-level cache.
template <typename Element>
void put_float_rows(const PackedWeight& w, uint64_t first_row, uint64_t num_rows,
                    const uint8_t* blocks) noexcept {
  constexpr uint64_t kPiece = 128;
  uint8_t* panel = w.data + first_row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  for (uint64_t k0 = 0; k0 < w.depth; k0 += kPiece) {
    const uint64_t end = k0 + kPiece < w.depth ? k0 + kPiece : w.depth;
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

void unpack_float_row(const PackedWeight& w, uint64_t row, float* out) noexcept {
  const uint64_t size = w.format->block_bytes;
  const uint8_t* panel = w.data + row / kFloatPanelRows * panel_bytes(*w.layout, w.depth);
  for (uint64_t k = 0; k < w.depth; ++k) {
    w.format->decode_row(panel + (k * kFloatPanelRows + row % kFloatPanelRows) * size, out + k, 1);
  }
}

void put_integer_row(const PackedWeight& w, uint64_t row, const uint8_t* blocks) noexcept {
  uint8_t* panel = w.data + row / kRows * panel_bytes(*w.layout, w.depth);
  UnitValues values;
  for (uint64_t u = 0; u < w.depth / w.layout->unit_values; ++u) {
    w.layout->extract(blocks + u * w.format->block_bytes, values);
    put_unit(*w.layout, panel + u * w.layout->unit_bytes, static_cast<uint32_t>(row % kRows),
             values);
  }
}

void unpack_integer_row(const PackedWeight& w, uint64_t row, float* out) noexcept {
  uint8_t* panel = w.data + row / kRows * panel_bytes(*w.layout, w.depth);
  UnitValues values;
  for (uint64_t u = 0; u < w.depth / w.layout->unit_values; ++u) {
    get_unit(*w.layout, panel + u * w.layout->unit_bytes, static_cast<uint32_t>(row % kRows),
             values);
    w.layout->values(values, out + u * w.layout->unit_values);
  }
}

}  // namespace

const PanelFormat& panel_format(Format format) noexcept {
  for (const PanelFormat& panel : kPanels) {
    if (panel.format == format) return panel;
  }
  return kRaw;
}

const PanelFormat& raw_panels() noexcept { return kRaw; }

uint64_t panel_bytes(const PanelFormat& layout, uint64_t depth) noexcept {
  return layout.kind == PanelKind::Raw ? 0 : depth / layout.unit_values * layout.unit_bytes;
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
  if (weight.layout->extract != nullptr) {
    for (uint64_t i = 0; i < num_rows; ++i) {
      put_integer_row(weight, first_row + i, blocks + i * row_bytes);
    }
    return;
  }
  for (uint64_t i = 0; i < num_rows;) {
    const uint64_t left = kFloatPanelRows - (first_row + i) % kFloatPanelRows;
    const uint64_t count = num_rows - i < left ? num_rows - i : left;
    if (weight.layout->kind == PanelKind::F32) {
      put_float_rows<uint32_t>(weight, first_row + i, count, blocks + i * row_bytes);
    } else {
      put_float_rows<uint16_t>(weight, first_row + i, count, blocks + i * row_bytes);
    }
    i += count;
  }
}

void unpack_row(const PackedWeight& weight, uint64_t row, float* out) noexcept {
  if (weight.layout->kind == PanelKind::Raw) {
    const uint64_t row_bytes =
        weight.depth / weight.format->block_values * weight.format->block_bytes;
    weight.format->decode_row(weight.data + row * row_bytes, out, weight.depth);
  } else if (weight.layout->extract != nullptr) {
    unpack_integer_row(weight, row, out);
  } else {
    unpack_float_row(weight, row, out);
  }
}

}  // namespace tenon::cpu
