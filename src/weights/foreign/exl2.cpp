// Scheme "EXL2": q_weight I32 [rows, out] packed along permuted inputs in groups of one width each,
// q_groups I16 [2 * groups] (bits, first row of q_weight), q_scale I32 [groups, out / 8] (nibbles),
// q_scale_max F16 [groups], q_invperm I32 [in].
//   s = half((n + 1)^2) * half(max / 256), in halves
//   W[o, i] = s[g, o] * (q - 2^(bits - 1)) at the permuted input q_invperm[i]
#include <algorithm>

#include "quant/half.h"
#include "weights/foreign/column_words.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

float half_product(float a, float b) { return f16_to_f32(f32_to_f16(a * b)); }

struct Exl2Group {
  uint32_t bits;
  uint64_t first_word;   ///< row of q_weight
  uint64_t first_input;  ///< permuted
  uint64_t num_inputs;
};

class Exl2Reader final : public RowReader {
 public:
  Exl2Reader(const Module& module, uint64_t inputs, uint64_t outputs)
      : RowReader({outputs, inputs}),
        words_(module, module.get(".q_weight")),
        scales_(module, module.get(".q_scale")),
        place_(inputs) {
    read_groups(module, inputs);
    if (scales_.rows() != groups_.size() || scales_.columns() * 8 < outputs) {
      module.refuse(scales_.tensor(), "expected nibbles of {} groups x {} outputs", groups_.size(),
                    outputs);
    }
    const StoredTensor& maxima = module.get(".q_scale_max");
    require_type(module, maxima, ElementType::F16);
    maxima_ = all_floats(module, maxima, groups_.size());
    if (maxima_.size() != groups_.size()) {
      module.refuse(maxima, "expected {} groups", groups_.size());
    }
    read_order(module);
  }

 private:
  void read_groups(const Module& module, uint64_t inputs) {
    const StoredTensor& tensor = module.get(".q_groups");
    const std::vector<int64_t> pairs = all_integers(module, tensor, 2 * inputs);
    uint64_t done = 0;
    for (size_t k = 0; k + 1 < pairs.size(); k += 2) {
      const int64_t bits = pairs[k];
      const int64_t begin = pairs[k + 1];
      const int64_t end = k + 3 < pairs.size() ? pairs[k + 3] : static_cast<int64_t>(words_.rows());
      if (bits < 1 || bits > 8 || begin < 0 || end <= begin ||
          static_cast<uint64_t>(end) > words_.rows() || (end - begin) * 32 % bits != 0) {
        module.refuse(tensor, "group {} has {} bits in rows {} to {} of {}", k / 2, bits, begin,
                      end, words_.rows());
      }
      const auto held = static_cast<uint64_t>((end - begin) * 32 / bits);
      const uint64_t taken = std::min(held, inputs - done);
      groups_.push_back({static_cast<uint32_t>(bits), static_cast<uint64_t>(begin), done, taken});
      done += taken;
    }
    if (done != inputs || pairs.size() % 2 != 0) {
      module.refuse(tensor, "holds {} of {} inputs", done, inputs);
    }
  }

  void read_order(const Module& module) {
    const StoredTensor& tensor = module.get(".q_invperm");
    const std::vector<int64_t> order = all_integers(module, tensor, place_.size());
    for (uint64_t i = 0; i < place_.size(); ++i) {
      if (order[i] < 0 || static_cast<uint64_t>(order[i]) >= place_.size()) {
        module.refuse(tensor, "input {} is at {} of {}", i, order[i], place_.size());
      }
      place_[i] = static_cast<uint32_t>(order[i]);
    }
  }

  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    for (uint64_t done = 0; done < count; done += kColumnBand) {
      read_band(first + done, std::min(kColumnBand, count - done), out + done * size().columns);
    }
  }

  void read_band(uint64_t first, uint64_t count, float* out) const {
    const uint64_t inputs = size().columns;
    std::vector<uint32_t> words(words_.rows() * count);
    words_.read(0, words_.rows(), first, count, words.data());
    const uint64_t first_scale = first / 8;
    const uint64_t num_scales = (first + count + 7) / 8 - first_scale;
    std::vector<uint32_t> scales(groups_.size() * num_scales);
    scales_.read(0, groups_.size(), first_scale, num_scales, scales.data());
    std::vector<uint8_t> codes(inputs);
    std::vector<float> permuted(inputs);
    for (uint64_t o = 0; o < count; ++o) {
      for (uint64_t g = 0; g < groups_.size(); ++g) {
        const Exl2Group& group = groups_[g];
        unpack_column(words.data() + o, count, group.first_word, group.num_inputs, group.bits,
                      false, codes.data());
        const uint32_t word = scales[g * num_scales + (first + o) / 8 - first_scale];
        const auto n = static_cast<float>((word >> ((first + o) % 8 * 4) & 15u) + 1);
        const float scale = half_product(n * n, half_product(maxima_[g], 1.0f / 256));
        const int middle = 1 << (group.bits - 1);
        for (uint64_t i = 0; i < group.num_inputs; ++i) {
          permuted[group.first_input + i] = static_cast<float>(codes[i] - middle) * scale;
        }
      }
      for (uint64_t i = 0; i < inputs; ++i) out[o * inputs + i] = permuted[place_[i]];
    }
  }

  TensorRows words_;
  TensorRows scales_;
  std::vector<Exl2Group> groups_;
  std::vector<float> maxima_;
  std::vector<uint32_t> place_;  // of each input among the permuted
};

}  // namespace

bool is_exl2(const Module& module) { return module.has(".q_weight") && module.has(".q_invperm"); }

std::unique_ptr<const RowReader> open_exl2(const Module& module) {
  const StoredTensor& words = module.get(".q_weight");
  const StoredTensor& order = module.get(".q_invperm");
  const StoredTensor& scales = module.get(".q_scale");
  for (const StoredTensor* tensor : {&words, &scales}) {
    require_type(module, *tensor, ElementType::I32);
    if (tensor->rank != 2) module.refuse(*tensor, "expected a matrix");
  }
  if (order.num_values() == 0) module.refuse(order, "is empty");
  check_inputs(module, order, order.num_values());
  return std::make_unique<Exl2Reader>(module, order.num_values(), words.shape[1]);
}

}  // namespace tenon::foreign
