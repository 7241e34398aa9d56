// Scheme "MLX affine": weight U32 [.., out, in * bits / 32] of fields as a stream, scales and
// biases [.., out, groups].
//   W[o, i] = q * scale[o, i / group] + bias[o, i / group]
// The configuration tells the group size; bits follow from the shapes, as they differ by tensor.
#include "weights/foreign/bit_packing.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

class MlxReader final : public RowReader {
 public:
  MlxReader(const Module& module, const TensorRows& words, uint32_t bits, uint64_t group,
            uint64_t groups)
      : RowReader({words.rows(), group * groups}),
        words_(words),
        scales_(module, module.get(".scales"), words.rows(), groups),
        biases_(module, module.get(".biases"), words.rows(), groups),
        bits_(bits),
        group_(group) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    const uint64_t inputs = size().columns;
    std::vector<uint8_t> bytes(words_.columns() * 4);
    std::vector<float> scales(scales_.columns());
    std::vector<float> biases(biases_.columns());
    std::vector<uint8_t> codes(inputs);
    for (uint64_t o = 0; o < count; ++o) {
      words_.read(first + o, 1, bytes.data());
      scales_.read_floats(first + o, 1, scales.data());
      biases_.read_floats(first + o, 1, biases.data());
      unpack_stream(bytes.data(), 0, inputs, bits_, codes.data());
      float* row = out + o * inputs;
      for (uint64_t g = 0; g < scales.size(); ++g) {
        const float scale = scales[g];
        const float bias = biases[g];
        for (uint64_t i = g * group_; i < (g + 1) * group_; ++i) {
          row[i] = static_cast<float>(codes[i]) * scale + bias;
        }
      }
    }
  }

  TensorRows words_;
  TensorRows scales_;
  TensorRows biases_;
  uint32_t bits_;
  uint64_t group_;
};

}  // namespace

bool is_mlx_affine(const Module& module) {
  return module.weight_is(ElementType::U32) && module.has(".scales") && module.has(".biases");
}

std::unique_ptr<const RowReader> open_mlx_affine(const Module& module) {
  const StoredTensor& weight = *module.weight();
  const StoredTensor& scales = module.get(".scales");
  const TensorRows words(module, weight);
  if (!is_float_type(scales.type)) module.refuse(scales, "is no number");
  const uint64_t groups = TensorRows(module, scales).columns();
  const uint64_t group = module.config().group_size_of(module.name());
  constexpr uint64_t kMostGroup = 65536;
  const uint64_t bits =
      group == 0 || group > kMostGroup ? 0 : words.columns() * 32 / (group * groups);
  const bool fits = bits >= 1 && bits <= 8 && words.columns() * 32 == group * groups * bits;
  if (!fits) {
    module.refuse(weight, "{} groups of {} inputs take no whole bits from 1 to 8", groups, group);
  }
  return std::make_unique<MlxReader>(module, words, static_cast<uint32_t>(bits), group, groups);
}

}  // namespace tenon::foreign
