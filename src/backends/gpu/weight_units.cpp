#include "backends/gpu/weight_units.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "quant/half.h"
#include "quant/k_scales.h"
#include "quant/q4_k.h"
#include "quant/q6_k.h"
#include "quant/q8_0.h"

namespace tenon::gpu {
namespace {

/// Places of the codes of a quarter in their plane, [16 rows, 64 columns].
template <uint32_t bits>
constexpr std::array<CodePlace, kQuarterValues> places_of_plane() {
  std::array<CodePlace, kQuarterValues> places{};
  for (uint32_t i = 0; i < kQuarterValues; ++i) {
    places[i] = code_place(bits, i / kQuarterColumns, i % kQuarterColumns);
  }
  return places;
}
template <uint32_t bits>
constexpr auto kPlaces = places_of_plane<bits>();

template <uint32_t bits>
void put_code(std::byte* plane, uint32_t row, uint32_t column, uint32_t code) noexcept {
  const CodePlace place = kPlaces<bits>[row * kQuarterColumns + column % kQuarterColumns];
  std::byte* at = plane + place.word * sizeof(uint32_t);
  uint32_t word;
  std::memcpy(&word, at, sizeof(word));
  word |= code << place.shift;
  std::memcpy(at, &word, sizeof(word));
}

/// Units of a tile, initially zero.
class Tile {
 public:
  Tile(Format format, std::byte* units) : layout_(unit_layout(format)), units_(units) {}

  /// Head of the unit with column `column` of a row.
  [[nodiscard]] std::byte* head(uint64_t column) const {
    return units_ + column / kUnitColumns * layout_.unit_bytes();
  }
  [[nodiscard]] std::byte* quarter(uint64_t column) const {
    const uint64_t number = column % kUnitColumns / kQuarterColumns;
    return head(column) + layout_.head_bytes + number * layout_.quarter_bytes();
  }
  [[nodiscard]] std::byte* high_plane(uint64_t column) const {
    return quarter(column) + plane_bytes(layout_.low_bits);
  }
  [[nodiscard]] std::byte* scales(uint64_t column) const {
    return high_plane(column) + plane_bytes(layout_.high_bits);
  }

 private:
  UnitLayout layout_;
  std::byte* units_;
};

void put_half(std::byte* to, uint16_t half) noexcept { std::memcpy(to, &half, sizeof(half)); }

void pack_f16_row(const Tile& tile, uint32_t row, const std::byte* values, uint64_t columns) {
  for (uint64_t c = 0; c < columns; ++c) {
    uint16_t half;
    std::memcpy(&half, values + c * sizeof(half), sizeof(half));
    put_code<16>(tile.quarter(c), row, static_cast<uint32_t>(c), half);
  }
}

/// Returns the factor of the row. bf16 has 8 significant bits: values down to 2^-31 of the row's
/// largest are exact, smaller values are off by at most 2^-39 of it.
float pack_bf16_row(const Tile& tile, uint32_t row, const std::byte* values, uint64_t columns) {
  constexpr int kLargestExponent = 15;  // of f16: 2^14 <= x < 2^15 in frexp's notation
  constexpr int kMostShift = 120;       // whose inverse is a normal number, too
  const auto value_at = [values](uint64_t c) {
    uint16_t brain;
    std::memcpy(&brain, values + c * sizeof(brain), sizeof(brain));
    return bf16_to_f32(brain);
  };
  float largest = 0;
  for (uint64_t c = 0; c < columns; ++c) {
    const float magnitude = std::fabs(value_at(c));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  int exponent = 0;
  if (largest > 0) std::frexp(largest, &exponent);
  const int shift =
      largest > 0 ? std::clamp(kLargestExponent - exponent, -kMostShift, kMostShift) : 0;
  const float factor = std::ldexp(1.0F, shift);
  for (uint64_t c = 0; c < columns; ++c) {
    put_code<16>(tile.quarter(c), row, static_cast<uint32_t>(c), f32_to_f16(value_at(c) * factor));
  }
  return std::ldexp(1.0F, -shift);
}

void pack_block(const Tile& tile, uint32_t row, uint64_t first, const BlockQ8_0& block) noexcept {
  for (uint32_t v = 0; v < BlockQ8_0::kValues; ++v) {
    const auto code = static_cast<uint32_t>(block.qs[v] + 128);
    put_code<8>(tile.quarter(first), row, static_cast<uint32_t>(first) + v, code);
  }
  const uint64_t group = first % kQuarterColumns / 32;
  put_half(tile.scales(first) + (row * 2 + group) * 2, block.d);
}

void pack_block(const Tile& tile, uint32_t row, uint64_t first, const BlockQ4_K& block) noexcept {
  put_half(tile.head(first) + row * 4, block.d);
  put_half(tile.head(first) + row * 4 + 2, block.dmin);
  for (uint32_t v = 0; v < BlockQ4_K::kValues; ++v) {
    const uint32_t code = block.qs[v / 64 * 32 + v % 32] >> (v / 32 % 2 * 4) & 15u;
    put_code<4>(tile.quarter(first + v), row, v, code);
  }
  for (uint32_t group = 0; group < 8; ++group) {
    const KScale k = read_k_scale(block.scales, static_cast<int>(group));
    std::byte* to = tile.scales(first + group * 32) + (row * 2 + group % 2) * 2;
    to[0] = static_cast<std::byte>(k.scale);
    to[1] = static_cast<std::byte>(k.minimum);
  }
}

void pack_block(const Tile& tile, uint32_t row, uint64_t first, const BlockQ6_K& block) noexcept {
  put_half(tile.head(first) + row * 2, block.d);
  for (uint32_t v = 0; v < BlockQ6_K::kValues; ++v) {
    const uint32_t k = v % 128 / 32;
    const uint32_t low = block.ql[v / 128 * 64 + k % 2 * 32 + v % 32] >> (k / 2 * 4) & 15u;
    const uint32_t high = block.qh[v / 128 * 32 + v % 32] >> (2 * k) & 3u;
    put_code<4>(tile.quarter(first + v), row, v, low);
    put_code<2>(tile.high_plane(first + v), row, v, high);
  }
  for (uint32_t group = 0; group < 16; ++group) {
    tile.scales(first + group * 16)[row * 4 + group % 4] =
        static_cast<std::byte>(block.scales[group]);
  }
}

template <typename Block>
void pack_blocks(const Tile& tile, uint32_t row, const std::byte* blocks, uint64_t columns) {
  for (uint64_t first = 0; first < columns; first += Block::kValues) {
    Block block;
    std::memcpy(&block, blocks + first / Block::kValues * sizeof(Block), sizeof(Block));
    pack_block(tile, row, first, block);
  }
}

}  // namespace

void pack_tile(Format format, const std::byte* blocks, uint64_t rows, uint64_t columns,
               std::byte* units, float* factors) noexcept {
  std::memset(units, 0, tile_bytes(format, columns));
  std::fill_n(factors, kUnitRows, 1.0F);
  const Tile tile(format, units);
  const FormatInfo& info = *find_format(format);
  const uint64_t row_bytes = columns / info.block_values * info.block_bytes;
  for (uint32_t row = 0; row < rows; ++row) {
    const std::byte* from = blocks + row * row_bytes;
    switch (format) {
      case Format::F16:
        pack_f16_row(tile, row, from, columns);
        break;
      case Format::BF16:
        factors[row] = pack_bf16_row(tile, row, from, columns);
        break;
      case Format::Q8_0:
        pack_blocks<BlockQ8_0>(tile, row, from, columns);
        break;
      case Format::Q4_K:
        pack_blocks<BlockQ4_K>(tile, row, from, columns);
        break;
      default:
        pack_blocks<BlockQ6_K>(tile, row, from, columns);
        break;
    }
  }
}

}  // namespace tenon::gpu
