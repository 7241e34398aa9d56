// Scheme "HQQ": W_q of codes in slabs along its first axis, the first slab in the top bits; scale
// and zero, both floats; shape, nbits, group_size, axis.
//   W = (q - zero) * scale
// The matrix of out x in weights is a grid [out * in / group, group] on axis 1, with a scale for
// each row, and [group, out * in / group] on axis 0, with a scale for each column.
#include <algorithm>

#include "base/checked.h"
#include "weights/foreign/group_reader.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

/// Codes in one element, and its bits for each.
struct SlabPacking {
  uint32_t slabs;
  uint32_t bits;
  ElementType type;
};

SlabPacking packing_of(const Module& module, double bits) {
  if (bits == 8) return {1, 8, ElementType::U8};
  if (bits == 6 || bits == 5) return {1, 8, ElementType::U8};  // a byte each
  if (bits == 4) return {2, 4, ElementType::U8};
  if (bits == 3) return {10, 3, ElementType::I32};
  if (bits == 2 || (bits > 1.5 && bits < 1.7)) return {4, 2, ElementType::U8};
  if (bits == 1) return {8, 1, ElementType::U8};
  module.refuse(module.get(".nbits"), "is {}: expected 1, 1.58, 2, 3, 4, 5, 6 or 8", bits);
}

class HqqReader final : public RowReader {
 public:
  HqqReader(const Module& module, MatrixSize size, uint64_t group, bool by_row,
            const SlabPacking& packing)
      : RowReader(size), packing_(packing), by_row_(by_row) {
    const uint64_t values = checked_mul(size.rows, size.columns, module.name());
    const StoredTensor& codes = module.get(".W_q");
    if (group == 0 || values % group != 0) {
      module.refuse(codes, "groups of {} do not divide {} x {} weights", group, size.rows,
                    size.columns);
    }
    grid_rows_ = by_row ? values / group : group;
    grid_columns_ = by_row ? group : values / group;
    slab_rows_ = (grid_rows_ + packing.slabs - 1) / packing.slabs;
    require_type(module, codes, packing.type);
    codes_ = TensorRows(module, codes, slab_rows_, grid_columns_);
    const uint64_t num_scales = values / group;
    scales_ = scale_rows(module, module.get(".scale"), num_scales);
    zeros_ = scale_rows(module, module.get(".zero"), num_scales);
  }

 private:
  static TensorRows scale_rows(const Module& module, const StoredTensor& tensor, uint64_t count) {
    if (!is_float_type(tensor.type)) module.refuse(tensor, "is no number");
    return {module, tensor, 1, count};
  }

  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    uint64_t at = first * size().columns;
    uint64_t left = count * size().columns;
    while (left > 0) {
      const uint64_t column = at % grid_columns_;
      const uint64_t run = std::min(left, grid_columns_ - column);
      read_run(at / grid_columns_, column, run, out);
      out += run;
      at += run;
      left -= run;
    }
  }

  /// Values of one row of the grid.
  void read_run(uint64_t row, uint64_t column, uint64_t count, float* out) const {
    std::vector<std::byte> bytes(count * codes_.element_bytes());
    codes_.read(row % slab_rows_, 1, column, count, bytes.data());
    const uint64_t num_scales = by_row_ ? 1 : count;
    std::vector<float> scales(num_scales);
    std::vector<float> zeros(num_scales);
    scales_.read_floats(0, 1, by_row_ ? row : column, num_scales, scales.data());
    zeros_.read_floats(0, 1, by_row_ ? row : column, num_scales, zeros.data());
    const uint64_t slab = row / slab_rows_;
    const auto shift = static_cast<uint32_t>(packing_.bits * (packing_.slabs - 1 - slab));
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, bytes.data() + i * codes_.element_bytes(), codes_.element_bytes());
      const uint32_t code = word >> shift & ((1u << packing_.bits) - 1u);
      const uint64_t s = by_row_ ? 0 : i;
      out[i] = (static_cast<float>(code) - zeros[s]) * scales[s];
    }
  }

  SlabPacking packing_;
  bool by_row_;
  uint64_t grid_rows_ = 0;
  uint64_t grid_columns_ = 0;
  uint64_t slab_rows_ = 0;
  TensorRows codes_;
  TensorRows scales_;
  TensorRows zeros_;
};

/// On axis 1 with groups inside the rows.
class HqqRowReader final : public GroupReader {
 public:
  HqqRowReader(const Module& module, MatrixSize size, uint64_t group, const SlabPacking& packing)
      : GroupReader(size, {packing.bits, group, size.columns / group, GroupSecond::FloatZero,
                           module.get(".scale").type}),
        packing_(packing) {
    const uint64_t grid_rows =
        checked_mul(size.rows, size.columns, module.name()) / group;  // a row is some of them
    slab_rows_ = (grid_rows + packing.slabs - 1) / packing.slabs;
    const StoredTensor& codes = module.get(".W_q");
    require_type(module, codes, packing.type);
    codes_ = TensorRows(module, codes, slab_rows_, group);
    scales_ = scale_rows(module, ".scale", grid_rows);
    zeros_ = scale_rows(module, ".zero", grid_rows);
  }

 private:
  static TensorRows scale_rows(const Module& module, const char* suffix, uint64_t count) {
    const StoredTensor& tensor = module.get(suffix);
    if (!is_float_type(tensor.type)) module.refuse(tensor, "is no number");
    return {module, tensor, 1, count};
  }

  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    const uint64_t in_row = groups().count;
    scales_.read_floats(0, 1, first * in_row, count * in_row, scales);
    zeros_.read_floats(0, 1, first * in_row, count * in_row, seconds);
    const uint64_t bytes = codes_.element_bytes();
    const uint32_t mask = (1u << packing_.bits) - 1u;
    std::vector<std::byte> stored;
    for (uint64_t row = first * in_row, left = count * in_row; left > 0;) {
      const uint64_t slab = row / slab_rows_;
      const uint64_t run = std::min(left, slab_rows_ - row % slab_rows_);
      const auto shift = static_cast<uint32_t>(packing_.bits * (packing_.slabs - 1 - slab));
      stored.resize(run * groups().size * bytes);
      codes_.read(row % slab_rows_, run, stored.data());
      for (uint64_t i = 0; i < run * groups().size; ++i) {
        uint32_t word = 0;
        std::memcpy(&word, stored.data() + i * bytes, bytes);
        *codes++ = static_cast<uint8_t>(word >> shift & mask);
      }
      row += run;
      left -= run;
    }
  }

  SlabPacking packing_;
  uint64_t slab_rows_ = 0;
  TensorRows codes_;
  TensorRows scales_;
  TensorRows zeros_;
};

double one_number(const Module& module, const char* suffix) {
  return all_floats(module, module.get(suffix), 1).front();
}

}  // namespace

bool is_hqq(const Module& module) {
  return module.has(".W_q") && module.has(".scale") && module.has(".zero");
}

std::unique_ptr<const RowReader> open_hqq(const Module& module) {
  const StoredTensor& shape = module.get(".shape");
  const std::vector<int64_t> sizes = all_integers(module, shape, kMaxStoredRank);
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) {
    module.refuse(shape, "expected two sizes from 1");
  }
  const double group = one_number(module, ".group_size");
  const double axis = one_number(module, ".axis");
  if (!(group >= 1 && group <= 1e9) || (axis != 0 && axis != 1)) {
    module.refuse(module.get(".W_q"), "group size {} on axis {}", group, axis);
  }
  const SlabPacking packing = packing_of(module, one_number(module, ".nbits"));
  const MatrixSize size{static_cast<uint64_t>(sizes[0]), static_cast<uint64_t>(sizes[1])};
  const auto group_size = static_cast<uint64_t>(group);
  if (axis == 1 && size.columns % group_size == 0) {
    return std::make_unique<HqqRowReader>(module, size, group_size, packing);
  }
  return std::make_unique<HqqReader>(module, size, group_size, axis == 1, packing);
}

}  // namespace tenon::foreign
