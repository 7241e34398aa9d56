// Scheme "scaled": FP8 or int8 elements times a scale of the tensor, a row or a tile.
//   W[r, c] = (w[r, c] - z) * s[r / tile_rows, c / tile_columns]
// A scale is a multiplier whatever its name says, unless the configuration says that it divides.
#include <algorithm>
#include <bit>

#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

constexpr uint64_t kUsualTile = 128;

const StoredTensor* scale_of(const Module& module) {
  for (const char* suffix : {".weight_scale_inv", ".weight_scale", ".scale", ".qscale_weight",
                             "_scale_inv", "_scales_inv", "_scale"}) {
    if (const StoredTensor* scale = module.find(suffix)) return scale;
  }
  return nullptr;
}

constexpr uint64_t tiles_of(uint64_t size, uint64_t tile) { return (size + tile - 1) / tile; }

/// Scales [matrices * rows, columns] of tiles of a stack of matrices.
struct ScaleGrid {
  uint64_t rows = 1;  ///< of each matrix
  uint64_t columns = 1;
  uint64_t tile_rows = 1;
  uint64_t tile_columns = 1;
  bool is_shared = false;  ///< one grid for all matrices
};

/// The tiles that fit `grid`; false if none does.
///   by_row  whether a group of columns of a row may have a scale
bool choose_tiles(const QuantConfig& config, uint64_t rows, uint64_t columns, bool by_row,
                  ScaleGrid& grid) {
  const auto take = [&](uint64_t tile_rows, uint64_t tile_columns) {
    if (tile_rows == 0 || tile_columns == 0) return false;
    if (tiles_of(rows, tile_rows) != grid.rows) return false;
    if (tiles_of(columns, tile_columns) != grid.columns) return false;
    grid.tile_rows = tile_rows;
    grid.tile_columns = tile_columns;
    return true;
  };
  if (grid.columns == 1 && (grid.rows == rows || grid.rows == 1)) {
    return take(grid.rows == 1 ? rows : 1, columns);
  }
  if (take(config.block_rows, config.block_columns)) return true;
  if (by_row && grid.rows == rows && columns % grid.columns == 0) {
    return take(1, columns / grid.columns);
  }
  return config.block_rows == 0 && take(kUsualTile, kUsualTile);
}

ScaleGrid grid_of(const Module& module, const StoredTensor& scale, uint64_t matrices, uint64_t rows,
                  uint64_t columns, bool by_row) {
  ScaleGrid grid;
  // [out, 1, in, 1] of ModelOpt
  const bool is_spread = scale.rank == 4 && scale.shape[1] == 1 && scale.shape[3] == 1;
  const uint64_t values = scale.num_values();
  if (values == 1) {
    grid.is_shared = true;
  } else if (is_spread) {
    grid.rows = scale.shape[0];
    grid.columns = scale.shape[2];
  } else if (scale.rank == 1) {
    grid.rows = scale.shape[0] == matrices ? 1 : rows;
  } else {
    grid.rows = scale.shape[scale.rank - 2];
    grid.columns = scale.shape[scale.rank - 1];
  }
  const bool fits = grid.is_shared || (values % matrices == 0 && grid.columns != 0 &&
                                       values / matrices / grid.columns == grid.rows &&
                                       values / matrices % grid.columns == 0);
  if (!fits || !choose_tiles(module.config(), rows, columns, by_row, grid)) {
    module.refuse(scale, "fits no tiles of {} x {} weights (the configuration says {} x {})", rows,
                  columns, module.config().block_rows, module.config().block_columns);
  }
  return grid;
}

class ScaledReader final : public RowReader {
 public:
  ScaledReader(const Module& module, const StoredTensor& weight, const StoredTensor& scale,
               const StoredTensor* zero)
      : RowReader(MatrixSize{TensorRows(module, weight).rows(), weight.dim(weight.rank - 1)}),
        codes_(module, weight),
        divides_(module.config().scale_divides && weight.type != ElementType::I8),
        are_exponents_(scale.type == ElementType::U8) {
    const uint64_t matrix_rows = weight.rank >= 2 ? weight.shape[weight.rank - 2] : 1;
    matrix_rows_ = matrix_rows;
    const uint64_t matrices = codes_.rows() / matrix_rows;
    const bool by_row =
        weight.type == ElementType::I8 || are_exponents_ || scale.type == ElementType::E8M0;
    grid_ = grid_of(module, scale, matrices, matrix_rows, codes_.columns(), by_row);
    const uint64_t grid_rows = grid_.rows * (grid_.is_shared ? 1 : matrices);
    scales_ = TensorRows(module, scale, grid_rows, grid_.columns);
    if (!is_decodable(scale.type)) module.refuse(scale, "is no number");
    if (zero == nullptr) return;
    zeros_ = TensorRows(module, *zero, grid_rows, grid_.columns);
    require_type(module, *zero, ElementType::I8);
  }

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    codes_.read_floats(first, count, out);
    std::vector<float> scales(grid_.columns);
    std::vector<float> zeros(grid_.columns, 0.0f);
    uint64_t at = UINT64_MAX;
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t row = first + i;
      const uint64_t grid_row = grid_row_of(row);
      if (grid_row != at) {
        read_scales(grid_row, scales.data());
        if (!zeros_.empty()) zeros_.read_floats(grid_row, 1, zeros.data());
        at = grid_row;
      }
      float* values = out + i * codes_.columns();
      for (uint64_t tile = 0; tile < grid_.columns; ++tile) {
        const uint64_t begin = tile * grid_.tile_columns;
        const uint64_t end = std::min(codes_.columns(), begin + grid_.tile_columns);
        const float scale = scales[tile];
        const float zero = zeros[tile];
        for (uint64_t c = begin; c < end; ++c) values[c] = (values[c] - zero) * scale;
      }
    }
  }

  /// FP8 keeps its bytes; int8 becomes codes from 0 up, if a head holds its scales.
  [[nodiscard]] std::optional<Format> packed_format() const override {
    const bool is_fp8 = codes_.type() == ElementType::E4M3;
    const bool is_short = scales_.type() == ElementType::F16 || scales_.type() == ElementType::BF16;
    if (!is_fp8 && (codes_.type() != ElementType::I8 || !is_short)) return std::nullopt;
    for (const Format format : {Format::F8G128, Format::F8G32, Format::U8G32}) {
      if ((format == Format::U8G32) == is_fp8) continue;
      const uint64_t block = find_format(format)->block_values;
      const bool is_whole = grid_.columns == 1 || grid_.tile_columns % block == 0;
      if (is_whole && codes_.columns() % block == 0) return format;
    }
    return std::nullopt;
  }

  void read_blocks(uint64_t first, uint64_t count, std::byte* out) const override {
    const uint64_t block = find_format(*packed_format())->block_values;
    const bool is_fp8 = codes_.type() == ElementType::E4M3;
    std::vector<uint8_t> codes(codes_.columns());
    std::vector<float> scales(grid_.columns);
    std::vector<float> zeros(grid_.columns, 0.0f);
    for (uint64_t i = 0; i < count; ++i) {
      codes_.read(first + i, 1, codes.data());
      read_scales(grid_row_of(first + i), scales.data());
      if (!zeros_.empty()) zeros_.read_floats(grid_row_of(first + i), 1, zeros.data());
      if (!is_fp8) {
        for (uint8_t& code : codes) code ^= kMiddle;
      }
      for (uint64_t c = 0; c < codes.size(); c += block, out += sizeof(uint32_t) + block) {
        const uint64_t tile = grid_.columns == 1 ? 0 : c / grid_.tile_columns;
        uint32_t head = std::bit_cast<uint32_t>(scales[tile]);
        if (!is_fp8) head = code_head(scales[tile], static_cast<uint8_t>(kMiddle + zeros[tile]));
        std::memcpy(out, &head, sizeof(head));
        std::memcpy(out + sizeof(head), codes.data() + c, block);
      }
    }
  }
  static constexpr uint8_t kMiddle = 128;

  [[nodiscard]] uint64_t grid_row_of(uint64_t row) const {
    const uint64_t matrix = grid_.is_shared ? 0 : row / matrix_rows_;
    return matrix * grid_.rows + row % matrix_rows_ / grid_.tile_rows;
  }

  void read_scales(uint64_t row, float* out) const {
    if (are_exponents_) {
      std::vector<std::byte> codes(grid_.columns);
      scales_.read(row, 1, codes.data());
      decode_elements(ElementType::E8M0, codes.data(), codes.size(), out);
    } else {
      scales_.read_floats(row, 1, out);
    }
    if (!divides_) return;
    for (uint64_t i = 0; i < grid_.columns; ++i) out[i] = 1.0f / out[i];
  }

  TensorRows codes_;
  TensorRows scales_;
  TensorRows zeros_;
  ScaleGrid grid_;
  uint64_t matrix_rows_ = 0;
  bool divides_;
  bool are_exponents_;
};

/// bitsandbytes int8: W = w * (SCB / 127).
class ScbReader final : public RowReader {
 public:
  ScbReader(const Module& module, const StoredTensor& weight, const StoredTensor& scale)
      : RowReader({TensorRows(module, weight).rows(), weight.dim(weight.rank - 1)}),
        codes_(module, weight),
        scales_(module, scale, codes_.rows(), 1) {
    require_type(module, weight, ElementType::I8);
    require_type(module, scale, ElementType::F32);
    if (const StoredTensor* format = module.find(".weight_format")) {
      for (const char c : text_of(module, *format, 1)) {
        if (c != 0) module.refuse(*format, "is {}: only rows (0) are read", static_cast<int>(c));
      }
    }
  }

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    codes_.read_floats(first, count, out);
    std::vector<float> scales(count);
    scales_.read_floats(first, count, scales.data());
    const uint64_t columns = codes_.columns();
    for (uint64_t i = 0; i < count * columns; ++i) {
      out[i] *= scales[i / columns] * static_cast<float>(1.0 / 127);
    }
  }
  TensorRows codes_;
  TensorRows scales_;
};

}  // namespace

bool is_bnb8(const Module& module) {
  return module.weight_is(ElementType::I8) && module.has(".SCB");
}

std::unique_ptr<const RowReader> open_bnb8(const Module& module) {
  return std::make_unique<ScbReader>(module, *module.weight(), module.get(".SCB"));
}

bool is_scaled(const Module& module) {
  const bool has_codes = module.weight_is(ElementType::E4M3) ||
                         module.weight_is(ElementType::E5M2) || module.weight_is(ElementType::I8);
  return has_codes && scale_of(module) != nullptr;
}

std::unique_ptr<const RowReader> open_scaled(const Module& module) {
  const StoredTensor& weight = *module.weight();
  const StoredTensor* zero =
      weight.type == ElementType::I8 ? module.find(".weight_zero_point") : nullptr;
  return std::make_unique<ScaledReader>(module, weight, *scale_of(module), zero);
}

}  // namespace tenon::foreign
