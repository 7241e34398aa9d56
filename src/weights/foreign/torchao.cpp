// Scheme "torchao": _weight_qdata, _weight_scale, _weight_zero_point (may be missing) and a JSON
// text in the file's metadata under "<name>.weight" that names the class.
//   Float8Tensor, Int8Tensor, IntxUnpackedToInt8Tensor:  W = (q - z) * s over tiles
//   Int4Tensor: two codes -8..7 in a byte, the even column in the low nibble; scale and zero stored
//   [groups, out]:  W = q * s + z
#include <algorithm>

#include "base/utf8.h"
#include "json/json_tree.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

constexpr const char* kCodes = "._weight_qdata";
constexpr const char* kScale = "._weight_scale";
constexpr const char* kZero = "._weight_zero_point";

/// Numbers of tiles of a matrix, from the shape of a tensor of them or else from the tile's size.
MatrixSize tile_counts(const Module& module, const StoredTensor& tensor, const TensorRows& codes,
                       const JsonNode* block) {
  MatrixSize tiles{tensor.dim(0), tensor.dim(1)};
  if (tensor.rank != 2) {
    if (block == nullptr || block->items.size() != 2 || !block->items[0].is_count ||
        !block->items[1].is_count || block->items[0].count == 0 || block->items[1].count == 0) {
      module.refuse(tensor, "\"block_size\" is no pair of sizes");
    }
    tiles = {codes.rows() / block->items[0].count, codes.columns() / block->items[1].count};
  }
  if (tiles.rows == 0 || tiles.columns == 0 || codes.rows() % tiles.rows != 0 ||
      codes.columns() % tiles.columns != 0) {
    module.refuse(tensor, "fits no tiles of {} x {} weights", codes.rows(), codes.columns());
  }
  return tiles;
}

/// Values of the tiles of a matrix.
class TileValues {
 public:
  TileValues(const Module& module, const StoredTensor& tensor, const TensorRows& codes,
             const JsonNode* block) {
    const MatrixSize tiles = tile_counts(module, tensor, codes, block);
    if (!is_decodable(tensor.type)) module.refuse(tensor, "is no number");
    rows_ = TensorRows(module, tensor, tiles.rows, tiles.columns);
    tile_rows_ = codes.rows() / tiles.rows;
    tile_columns_ = codes.columns() / tiles.columns;
  }
  /// For each column of a row.
  void read(uint64_t row, std::vector<float>& out) const {
    std::vector<float> values(rows_.columns());
    rows_.read_floats(row / tile_rows_, 1, values.data());
    for (uint64_t c = 0; c < out.size(); ++c) out[c] = values[c / tile_columns_];
  }

 private:
  TensorRows rows_;
  uint64_t tile_rows_ = 1;
  uint64_t tile_columns_ = 1;
};

class TileReader final : public RowReader {
 public:
  TileReader(const Module& module, const TensorRows& codes, const JsonNode* block)
      : RowReader({codes.rows(), codes.columns()}),
        codes_(codes),
        scales_(module, module.get(kScale), codes, block) {
    if (const StoredTensor* zero = module.find(kZero)) {
      zeros_ = std::make_unique<TileValues>(module, *zero, codes, block);
    }
  }

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    codes_.read_floats(first, count, out);
    std::vector<float> scales(size().columns);
    std::vector<float> zeros(size().columns, 0.0f);
    for (uint64_t i = 0; i < count; ++i) {
      scales_.read(first + i, scales);
      if (zeros_ != nullptr) zeros_->read(first + i, zeros);
      float* row = out + i * size().columns;
      for (uint64_t c = 0; c < size().columns; ++c) row[c] = (row[c] - zeros[c]) * scales[c];
    }
  }
  TensorRows codes_;
  TileValues scales_;
  std::unique_ptr<const TileValues> zeros_;
};

class Int4Reader final : public RowReader {
 public:
  Int4Reader(const Module& module, const TensorRows& codes, uint64_t groups)
      : RowReader({codes.rows(), codes.columns() * 2}),
        codes_(codes),
        scales_(module, module.get(kScale), groups, codes.rows()),
        zeros_(module, module.get(kZero), groups, codes.rows()),
        group_(size().columns / groups) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    std::vector<uint8_t> codes(count * codes_.columns());
    codes_.read(first, count, codes.data());
    std::vector<float> scales(scales_.rows() * count);
    std::vector<float> zeros(zeros_.rows() * count);
    scales_.read_floats(0, scales_.rows(), first, count, scales.data());
    zeros_.read_floats(0, zeros_.rows(), first, count, zeros.data());
    for (uint64_t i = 0; i < count * size().columns; ++i) {
      const uint32_t nibble = i % 2 == 0 ? codes[i / 2] & 15u : codes[i / 2] >> 4;
      const int code = static_cast<int>(nibble ^ 8u) - 8;
      const uint64_t at = i % size().columns / group_ * count + i / size().columns;
      out[i] = static_cast<float>(code) * scales[at] + zeros[at];
    }
  }
  TensorRows codes_;
  TensorRows scales_;
  TensorRows zeros_;
  uint64_t group_;
};

}  // namespace

bool is_torchao(const Module& module) { return module.has(kCodes) && module.has(kScale); }

std::unique_ptr<const RowReader> open_torchao(const Module& module) {
  const StoredTensor& codes = module.get(kCodes);
  const std::string* text = module.folder()->metadata(module.name() + ".weight");
  if (text == nullptr) module.refuse(codes, "the file's metadata do not name its class");
  const JsonNode root = parse_json_tree(*text, module.folder()->place(codes) + ": metadata");
  const std::string_view kind = root.text_of("_type");
  const JsonNode* data = root.find("_data");
  const JsonNode* block = data == nullptr ? nullptr : data->find("block_size");
  const TensorRows rows(module, codes);
  if (kind == "Float8Tensor" || kind == "Int8Tensor" || kind == "IntxUnpackedToInt8Tensor") {
    const bool is_fp8 = kind == "Float8Tensor";
    require_type(module, codes,
                 is_fp8 && codes.type == ElementType::E5M2 ? ElementType::E5M2
                 : is_fp8                                  ? ElementType::E4M3
                                                           : ElementType::I8);
    return std::make_unique<TileReader>(module, rows, block);
  }
  if (kind == "Int4Tensor" && rows.element_bytes() == 1) {
    const uint64_t groups = module.get(kScale).dim(0);
    if (groups == 0 || rows.columns() * 2 % groups != 0) {
      module.refuse(module.get(kScale), "does not divide {} columns", rows.columns() * 2);
    }
    return std::make_unique<Int4Reader>(module, rows, groups);
  }
  fail(Code::Unsupported, "{}: its class {} is in the order of a device, or unknown",
       module.folder()->place(codes), quoted(kind));
}

}  // namespace tenon::foreign
