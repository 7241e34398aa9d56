// Scheme "MLX affine": weight U32 [.., out, in * bits / 32] of fields as a stream, scales and
// biases [.., out, groups].
//   W[o, i] = q * scale[o, i / group] + bias[o, i / group]
// The configuration tells the group size; bits follow from the shapes, as they differ by tensor.
#include "weights/foreign/bit_packing.h"
#include "weights/foreign/group_reader.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

class MlxReader final : public GroupReader {
 public:
  MlxReader(const Module& module, const TensorRows& words, const CodeGroups& groups)
      : GroupReader({words.rows(), groups.size * groups.count}, groups),
        words_(words),
        scales_(module, module.get(".scales"), words.rows(), groups.count),
        biases_(module, module.get(".biases"), words.rows(), groups.count) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    std::vector<uint8_t> bytes(words_.columns() * 4);
    scales_.read_floats(first, count, scales);
    biases_.read_floats(first, count, seconds);
    for (uint64_t o = 0; o < count; ++o) {
      words_.read(first + o, 1, bytes.data());
      unpack_stream(bytes.data(), 0, size().columns, groups().bits, codes + o * size().columns);
    }
  }

  TensorRows words_;
  TensorRows scales_;
  TensorRows biases_;
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
  // A bias of another type than the scales is as exact: it is an f32 in memory.
  return std::make_unique<MlxReader>(
      module, words,
      CodeGroups{static_cast<uint32_t>(bits), group, groups, GroupSecond::Bias, scales.type});
}

}  // namespace tenon::foreign
