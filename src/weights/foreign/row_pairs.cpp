// Schemes with several rows in a byte.
//   "ModelOpt int4": weight U8 [out / 2, in], row 2r in the low nibble and row 2r + 1 in the high
//   nibble, two's complement; weight_scale [out, groups]; weight_scale_2 (may be missing).
//     W = q * scale [* scale_2]
//   "BitNet": weight U8 [out / 4, in], byte row r holds rows r, r + out / 4, r + out / 2,
//   r + 3 out / 4 from the lowest bits up as q + 1; weight_scale [1] divides.
#include <algorithm>
#include <utility>

#include "weights/foreign/group_reader.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

const StoredTensor* float_scale(const Module& module) {
  const StoredTensor* scale = module.find(".weight_scale");
  return scale != nullptr && is_float_type(scale->type) ? scale : nullptr;
}

/// Nibbles of the rows of a pair, as codes from 0 up with a zero of 8.
class ModelOptInt4Reader final : public GroupReader {
 public:
  ModelOptInt4Reader(const Module& module, const TensorRows& pairs, uint64_t groups)
      : GroupReader({pairs.rows() * 2, pairs.columns()},
                    {4, pairs.columns() / groups, groups, GroupSecond::Zero,
                     module.get(".weight_scale").type}),
        pairs_(pairs),
        scales_(module, module.get(".weight_scale"), size().rows, groups) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    scales_.read_floats(first, count, scales);
    std::fill_n(seconds, count * groups().count, 8.0f);
    for (uint64_t i = 0; i < count; ++i) {
      uint8_t* row = codes + i * size().columns;
      pairs_.read((first + i) / 2, 1, row);
      const uint32_t shift = (first + i) % 2 * 4;
      for (uint64_t c = 0; c < size().columns; ++c) {
        row[c] = static_cast<uint8_t>((row[c] >> shift & 15u) ^ 8u);
      }
    }
  }
  TensorRows pairs_;
  TensorRows scales_;
};

/// All values times a number.
class FactorReader final : public RowReader {
 public:
  FactorReader(std::unique_ptr<const RowReader> inner, float factor)
      : RowReader(inner->size()), inner_(std::move(inner)), factor_(factor) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    inner_->read(first, count, {out, count * size().columns});
    for (uint64_t i = 0; i < count * size().columns; ++i) out[i] *= factor_;
  }
  std::unique_ptr<const RowReader> inner_;
  float factor_;
};

class BitNetReader final : public RowReader {
 public:
  BitNetReader(const TensorRows& slabs, float divisor)
      : RowReader({slabs.rows() * 4, slabs.columns()}), slabs_(slabs), divisor_(divisor) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    std::vector<uint8_t> bytes(slabs_.columns());
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t row = first + i;
      slabs_.read(row % slabs_.rows(), 1, bytes.data());
      const auto shift = static_cast<uint32_t>(row / slabs_.rows() * 2);
      for (uint64_t c = 0; c < bytes.size(); ++c) {
        const int code = (bytes[c] >> shift & 3) - 1;
        out[i * bytes.size() + c] = static_cast<float>(code) / divisor_;
      }
    }
  }
  TensorRows slabs_;
  float divisor_;
};

}  // namespace

bool is_modelopt_int4(const Module& module) {
  const StoredTensor* scale = float_scale(module);
  return module.weight_is(ElementType::U8) && module.weight()->rank == 2 && scale != nullptr &&
         scale->rank == 2 && scale->shape[0] == module.weight()->shape[0] * 2;
}

std::unique_ptr<const RowReader> open_modelopt_int4(const Module& module) {
  const TensorRows pairs(module, *module.weight());
  const StoredTensor& scale = module.get(".weight_scale");
  const uint64_t groups = scale.shape[1];
  if (groups == 0 || pairs.columns() % groups != 0) {
    module.refuse(scale, "does not divide {} columns", pairs.columns());
  }
  auto reader = std::make_unique<ModelOptInt4Reader>(module, pairs, groups);
  const StoredTensor* more = module.find(".weight_scale_2");
  if (more == nullptr) return reader;
  return std::make_unique<FactorReader>(std::move(reader), all_floats(module, *more, 1).front());
}

bool is_bitnet(const Module& module) {
  const StoredTensor* scale = float_scale(module);
  return module.weight_is(ElementType::U8) && module.weight()->rank == 2 && scale != nullptr &&
         scale->num_values() == 1 && !module.has(".weight_scale_2");
}

std::unique_ptr<const RowReader> open_bitnet(const Module& module) {
  const float divisor = all_floats(module, module.get(".weight_scale"), 1).front();
  return std::make_unique<BitNetReader>(TensorRows(module, *module.weight()), divisor);
}

}  // namespace tenon::foreign
