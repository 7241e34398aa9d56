// Scheme "EXL3": trellis I16 [in / 16, out / 16, 16 K] of tiles of 16 x 16 weights, K bits each (n
// or n + 1/2), suh F16 [in] and svh F16 [out] (older files: su and sv I16 of sign bits), and "mcg"
// or "mul1", whose presence selects the codebook.
//   state of weight t = 16 bits of the tile's ring that end where its own K bits end
//   W^T = diag(suh) H inner H diag(svh), H of blocks of 128
// Scheme "EXL3 table": trellis I16 [rows, groups (1 + 16 K)], signs F16 [groups, 256]. Each group
// of a row is a scale and a ring of 256 codes, rotated.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <utility>

#include "quant/half.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

constexpr uint64_t kTile = 16;
constexpr uint64_t kTileValues = kTile * kTile;
constexpr uint64_t kRotated = 128;  // values that one rotation of a matrix mixes
constexpr uint64_t kTableRing = 256;

enum class Codebook : uint8_t { ThreeInstructions, Mcg, Mul1 };
constexpr size_t kNumCodebooks = 3;

float half_value(uint32_t bits) { return f16_to_f32(static_cast<uint16_t>(bits & 0xffffu)); }
float as_half(float value) { return f16_to_f32(f32_to_f16(value)); }

/// The value of a state: a half.
float codebook_value(uint32_t state, Codebook codebook) {
  if (codebook == Codebook::Mul1) {
    const uint32_t x = state * 0x83DCD12Du;
    const uint32_t sum = (x & 255u) + (x >> 8 & 255u) + (x >> 16 & 255u) + (x >> 24);
    // Exact in f32: a multiple of 2^-18 below 2^22 of them.
    const float value = static_cast<float>(1024 + sum) * half_value(0x1EEE) + half_value(0xC931);
    return as_half(value);
  }
  uint32_t x = codebook == Codebook::Mcg ? state * 0xCBAC1FEDu : state * 89226354u + 64248484u;
  x = (x & 0x8FFF8FFFu) ^ 0x3B603B60u;
  return as_half(half_value(x) + half_value(x >> 16));
}

/// Rotates n runs of `width` values in place, value by value, times 1 / sqrt(n); natural order.
void rotate(float* values, uint64_t n, uint64_t width) {
  for (uint64_t half = 1; half < n; half *= 2) {
    for (uint64_t i = 0; i < n; ++i) {
      if ((i & half) != 0) continue;
      float* low = values + i * width;
      float* high = values + (i + half) * width;
      for (uint64_t k = 0; k < width; ++k) {
        const float sum = low[k] + high[k];
        high[k] = low[k] - high[k];
        low[k] = sum;
      }
    }
  }
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(n)));
  for (uint64_t i = 0; i < n * width; ++i) values[i] *= scale;
}

/// The values of all 65536 states.
using CodebookTable = std::vector<float>;

/// The table of a codebook: made once and kept, 256 KiB. Without a lock, which a fork could leave
/// held.
const CodebookTable& codebook_table(Codebook codebook) {
  static constinit std::atomic<const CodebookTable*> made[kNumCodebooks] = {};
  std::atomic<const CodebookTable*>& one = made[static_cast<size_t>(codebook)];
  const CodebookTable* known = one.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  auto table = std::make_unique<CodebookTable>(65536);
  for (uint32_t state = 0; state < table->size(); ++state) {
    (*table)[state] = codebook_value(state, codebook);
  }
  if (!one.compare_exchange_strong(known, table.get(), std::memory_order_acq_rel)) return *known;
  return *table.release();
}

/// One tile: words of 32 bits, the highest bit first.
class TileRing {
 public:
  TileRing(const uint8_t* tile, uint32_t half_bits) : tile_(tile), half_bits_(half_bits) {}

  /// Values by row (input) * 16 + column (output).
  ///   table  of codebook_table()
  void decode(const CodebookTable& table, float* out) const {
    uint32_t end = 0;
    for (uint32_t t = 0; t < kTileValues; ++t) {
      end += half_bits_ / 2 + (half_bits_ % 2 != 0 && t % 2 != 0 ? 1 : 0);
      const uint32_t lane = t / 8;
      const uint32_t j = t % 8;
      const uint32_t row = lane % 4 * 2 + (j & 1u) + 8 * (j >> 1 & 1u);
      const uint32_t column = lane / 4 + 8 * (j >> 2);
      out[row * kTile + column] = table[state_before(end)];
    }
  }

 private:
  /// The 16 bits that end before bit `end` of the ring.
  [[nodiscard]] uint32_t state_before(uint32_t end) const {
    const uint32_t ring = half_bits_ * 128;
    const uint32_t begin = (end + ring - 16) % ring;
    const uint32_t word = begin / 32;
    const uint64_t pair =
        static_cast<uint64_t>(word_at(word)) << 32 | word_at((word + 1) % (ring / 32));
    return static_cast<uint32_t>(pair >> (48 - begin % 32)) & 0xffffu;
  }
  [[nodiscard]] uint32_t word_at(uint32_t i) const {
    uint32_t word = 0;
    std::memcpy(&word, tile_ + 4 * i, sizeof(word));
    return word;
  }

  const uint8_t* tile_;
  uint32_t half_bits_;  // 2 K
};

/// Numbers of "suh" or signs of "su".
std::vector<float> side_scales(const Module& module, const char* scales, const char* signs,
                               uint64_t count) {
  if (const StoredTensor* tensor = module.find(scales)) {
    if (!is_float_type(tensor->type) || tensor->num_values() != count) {
      module.refuse(*tensor, "expected {} numbers", count);
    }
    return all_floats(module, *tensor, count);
  }
  const StoredTensor& tensor = module.get(signs);
  require_type(module, tensor, ElementType::I16);
  const std::vector<int64_t> words = all_integers(module, tensor, count);
  if (words.size() * 16 != count) module.refuse(tensor, "expected the signs of {} values", count);
  std::vector<float> out(count);
  for (uint64_t i = 0; i < count; ++i) {
    out[i] = (static_cast<uint32_t>(words[i / 16]) >> (i % 16) & 1u) != 0 ? -1.0f : 1.0f;
  }
  return out;
}

class Exl3Reader final : public RowReader {
 public:
  Exl3Reader(const Module& module, const StoredTensor& trellis, uint32_t half_bits)
      : RowReader({trellis.shape[1] * kTile, trellis.shape[0] * kTile}),
        tiles_(module, trellis, trellis.shape[0], trellis.shape[1] * trellis.shape[2]),
        tile_words_(trellis.shape[2]),
        half_bits_(half_bits),
        table_(codebook_table(module.has(".mcg")    ? Codebook::Mcg
                              : module.has(".mul1") ? Codebook::Mul1
                                                    : Codebook::ThreeInstructions)),
        input_scales_(side_scales(module, ".suh", ".su", size().columns)),
        output_scales_(side_scales(module, ".svh", ".sv", size().rows)) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    const uint64_t inputs = size().columns;
    std::vector<float> band(kRotated * inputs);
    while (count > 0) {
      const uint64_t begin = first / kRotated * kRotated;
      const uint64_t taken = std::min(count, begin + kRotated - first);
      read_band(begin, band.data());
      std::copy_n(band.data() + (first - begin) * inputs, taken * inputs, out);
      out += taken * inputs;
      first += taken;
      count -= taken;
    }
  }

  /// Rows begin .. begin + 127.
  void read_band(uint64_t begin, float* out) const {
    const uint64_t inputs = size().columns;
    constexpr uint64_t kBandTiles = kRotated / kTile;
    std::vector<uint8_t> tiles(kBandTiles * tile_words_ * 2);
    float tile[kTileValues];
    for (uint64_t a = 0; a < tiles_.rows(); ++a) {
      tiles_.read(a, 1, begin / kTile * tile_words_, kBandTiles * tile_words_, tiles.data());
      for (uint64_t b = 0; b < kBandTiles; ++b) {
        TileRing(tiles.data() + b * tile_words_ * 2, half_bits_).decode(table_, tile);
        for (uint64_t i = 0; i < kTileValues; ++i) {
          out[(b * kTile + i % kTile) * inputs + a * kTile + i / kTile] = tile[i];
        }
      }
    }
    for (uint64_t o = 0; o < kRotated; ++o) {
      float* row = out + o * inputs;
      for (uint64_t i = 0; i < inputs; i += kRotated) rotate(row + i, kRotated, 1);
      for (uint64_t i = 0; i < inputs; ++i) row[i] *= input_scales_[i];
    }
    rotate(out, kRotated, inputs);
    for (uint64_t o = 0; o < kRotated; ++o) {
      for (uint64_t i = 0; i < inputs; ++i) out[o * inputs + i] *= output_scales_[begin + o];
    }
  }

  TensorRows tiles_;
  uint64_t tile_words_;  // of 16 bits
  uint32_t half_bits_;
  const CodebookTable& table_;
  std::vector<float> input_scales_;
  std::vector<float> output_scales_;
};

class Exl3TableReader final : public RowReader {
 public:
  Exl3TableReader(const Module& module, const TensorRows& rings, uint64_t groups, uint32_t bits)
      : RowReader({rings.rows(), groups * kTableRing}),
        rings_(rings),
        bits_(bits),
        signs_(all_floats(module, module.get(".signs"), groups * kTableRing)) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    std::vector<uint16_t> words(rings_.columns());
    const uint64_t ring_words = 1 + kTile * bits_;
    for (uint64_t i = 0; i < count; ++i) {
      rings_.read(first + i, 1, words.data());
      for (uint64_t begin = 0; begin < size().columns; begin += kTableRing) {
        float* values = out + i * size().columns + begin;
        decode_ring(words.data() + begin / kTableRing * ring_words, values);
        rotate(values, kTableRing, 1);
        for (uint64_t k = 0; k < kTableRing; ++k) values[k] *= signs_[begin + k];
      }
    }
  }

  /// A scale, then codes with the lowest bits first; a state is the codes up to its own.
  void decode_ring(const uint16_t* words, float* out) const {
    const float scale = f16_to_f32(words[0]);
    const auto code_at = [&](uint32_t k) {
      const uint32_t bit = k % kTableRing * bits_;
      uint32_t pair = words[1 + bit / 16];
      if (bit % 16 + bits_ > 16) pair |= static_cast<uint32_t>(words[2 + bit / 16]) << 16;
      return pair >> bit % 16 & ((1u << bits_) - 1u);
    };
    for (uint32_t k = 0; k < kTableRing; ++k) {
      uint32_t state = 0;
      for (uint32_t back = 0; back * bits_ < 16; ++back) {
        state |= code_at(k + kTableRing - back) << (back * bits_);
      }
      out[k] = codebook_value(state & 0xffffu, Codebook::Mul1) * scale;
    }
  }

  TensorRows rings_;
  uint32_t bits_;
  std::vector<float> signs_;
};

}  // namespace

bool is_exl3(const Module& module) { return module.has(".trellis") && !module.has(".signs"); }

std::unique_ptr<const RowReader> open_exl3(const Module& module) {
  const StoredTensor& trellis = module.get(".trellis");
  require_type(module, trellis, ElementType::I16);
  if (trellis.rank != 3 || trellis.num_values() == 0) module.refuse(trellis, "expected tiles");
  const uint64_t words = trellis.shape[2];  // 16 K
  const uint64_t half_bits = words / 8;
  const bool is_half = half_bits % 2 != 0;
  if (words % 8 != 0 || half_bits < 2 || half_bits > 16 || (is_half && !module.has(".mul1"))) {
    module.refuse(trellis, "tiles of {} words are of no known width", words);
  }
  if (trellis.shape[0] * kTile % kRotated != 0 || trellis.shape[1] * kTile % kRotated != 0) {
    module.refuse(trellis, "expected a multiple of {} rows and columns", kRotated);
  }
  check_inputs(module, trellis, trellis.shape[0] * kTile);
  return std::make_unique<Exl3Reader>(module, trellis, static_cast<uint32_t>(half_bits));
}

bool is_exl3_table(const Module& module) { return module.has(".trellis") && module.has(".signs"); }

std::unique_ptr<const RowReader> open_exl3_table(const Module& module) {
  const StoredTensor& trellis = module.get(".trellis");
  const StoredTensor& signs = module.get(".signs");
  require_type(module, trellis, ElementType::I16);
  if (trellis.rank != 2 || signs.rank != 2 || signs.shape[1] != kTableRing || signs.shape[0] == 0 ||
      !is_float_type(signs.type)) {
    module.refuse(signs, "expected groups of {} signs", kTableRing);
  }
  const uint64_t groups = signs.shape[0];
  const uint64_t words = trellis.shape[1] / groups;
  const uint64_t bits = words / kTile;
  if (trellis.shape[1] != words * groups || words != 1 + bits * kTile || bits < 1 || bits > 8) {
    module.refuse(trellis, "rows are no {} rings of {} codes", groups, kTableRing);
  }
  return std::make_unique<Exl3TableReader>(module, TensorRows(module, trellis), groups,
                                           static_cast<uint32_t>(bits));
}

}  // namespace tenon::foreign
