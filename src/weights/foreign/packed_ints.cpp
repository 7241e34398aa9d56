// Scheme "compressed-tensors integers": weight_packed I32 [out, words] of unsigned fields of 1 to 8
// bits packed along inputs, weight_shape [2], weight_scale [out, groups], weight_zero_point I32
// [words of out, groups] packed along outputs (symmetric: none), weight_g_idx I32 [in] (may be
// missing; -1 means unused).
//   W[o, i] = scale[o, g] * (q[o, i] - zero[o, g])
// 3, 5, 6 and 7 bits are a stream in newer files and whole fields with unused bits in older files:
// the number of words tells.
#include <algorithm>

#include "weights/foreign/bit_packing.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

struct PackedLayout {
  uint32_t bits = 0;
  bool is_stream = true;
};

uint64_t words_of(uint64_t count, const PackedLayout& layout) {
  return layout.is_stream ? stream_words(count, layout.bits) : field_words(count, layout.bits);
}

/// The layout in which `inputs` values take `words` words, and `outputs` zeros `zero_words`
/// (0: none). Widths of the configuration come first; Format unless one layout is left.
PackedLayout layout_of(const Module& module, const StoredTensor& words, uint64_t inputs,
                       uint64_t outputs, uint64_t zero_words) {
  std::vector<PackedLayout> fitting;
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (const bool is_stream : {true, false}) {
      const PackedLayout layout{bits, is_stream};
      if (!is_stream && 32 % bits == 0) continue;
      if (words_of(inputs, layout) != words.shape[1]) continue;
      if (zero_words != 0 && words_of(outputs, layout) != zero_words) continue;
      fitting.push_back(layout);
    }
  }
  const std::vector<uint32_t>& named = module.config().packed_bits;
  std::vector<PackedLayout> chosen;
  for (const PackedLayout& layout : fitting) {
    const bool is_named = std::ranges::find(named, layout.bits) != named.end();
    if (is_named && (chosen.empty() || chosen.back().bits != layout.bits)) chosen.push_back(layout);
  }
  if (chosen.empty()) chosen = fitting;
  if (chosen.size() == 1) return chosen[0];
  module.refuse(words, "{} inputs in {} words are of {} width of 1 to 8 bits", inputs,
                words.shape[1], chosen.empty() ? "no" : "more than one");
}

class PackedIntReader final : public RowReader {
 public:
  PackedIntReader(const Module& module, uint64_t outputs, uint64_t inputs)
      : RowReader({outputs, inputs}), words_(module, module.get(".weight_packed")) {
    check_inputs(module, words_.tensor(), inputs);
    const StoredTensor& scale = module.get(".weight_scale");
    if (!is_float_type(scale.type)) module.refuse(scale, "is no number");
    const uint64_t groups = scale.num_values() / outputs;
    if (groups == 0 || groups > inputs) {
      module.refuse(scale, "expected groups of {} x {} weights", outputs, inputs);
    }
    scales_ = TensorRows(module, scale, outputs, groups);
    uint64_t zero_words = 0;
    if (const StoredTensor* zero = module.find(".weight_zero_point")) {
      require_type(module, *zero, ElementType::I32);
      zeros_ = TensorRows(module, *zero);
      if (zeros_.columns() != groups) module.refuse(*zero, "expected {} groups", groups);
      zero_words = zeros_.rows();
    }
    layout_ = layout_of(module, words_.tensor(), inputs, outputs, zero_words);
    read_groups(module, groups);
  }

 private:
  void read_groups(const Module& module, uint64_t groups) {
    const StoredTensor* index = module.find(".weight_g_idx");
    const uint64_t inputs = size().columns;
    std::vector<int64_t> stored;
    if (index != nullptr) stored = all_integers(module, *index, inputs);
    const bool is_used = !stored.empty() && std::ranges::min(stored) >= 0;
    if (is_used &&
        (stored.size() != inputs || static_cast<uint64_t>(std::ranges::max(stored)) >= groups)) {
      module.refuse(*index, "expected one of {} groups for each of {} inputs", groups, inputs);
    }
    if (!is_used && inputs % groups != 0) {
      module.refuse(scales_.tensor(), "{} groups do not divide {} inputs", groups, inputs);
    }
    groups_.resize(inputs);
    for (uint64_t i = 0; i < inputs; ++i) {
      groups_[i] =
          static_cast<uint32_t>(is_used ? static_cast<uint64_t>(stored[i]) : i / (inputs / groups));
    }
  }

  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    const uint64_t inputs = size().columns;
    std::vector<uint32_t> words(words_.columns());
    std::vector<float> scales(scales_.columns());
    std::vector<uint8_t> zeros(scales_.columns(), static_cast<uint8_t>(1u << (layout_.bits - 1)));
    std::vector<uint8_t> codes(inputs);
    for (uint64_t o = 0; o < count; ++o) {
      words_.read(first + o, 1, words.data());
      scales_.read_floats(first + o, 1, scales.data());
      if (!zeros_.empty()) read_zeros(first + o, zeros);
      if (layout_.is_stream) {
        unpack_stream(reinterpret_cast<const uint8_t*>(words.data()), 0, inputs, layout_.bits,
                      codes.data());
      } else {
        for (uint64_t i = 0; i < inputs; ++i) codes[i] = field_at(words.data(), i, layout_.bits);
      }
      for (uint64_t i = 0; i < inputs; ++i) {
        const uint32_t g = groups_[i];
        out[o * inputs + i] = static_cast<float>(codes[i] - zeros[g]) * scales[g];
      }
    }
  }

  /// Zeros of one output: a field of up to two words in each column.
  void read_zeros(uint64_t output, std::vector<uint8_t>& zeros) const {
    const uint32_t bits = layout_.bits;
    const uint64_t fields = 32 / bits;
    const uint64_t bit =
        layout_.is_stream ? output * bits : output / fields * 32 + output % fields * bits;
    const uint64_t last = (bit + bits - 1) / 32;
    std::vector<uint32_t> words((last - bit / 32 + 1) * zeros.size());
    zeros_.read(bit / 32, last - bit / 32 + 1, words.data());
    for (uint64_t g = 0; g < zeros.size(); ++g) {
      uint64_t pair = words[g];
      if (last != bit / 32) pair |= static_cast<uint64_t>(words[zeros.size() + g]) << 32;
      zeros[g] = static_cast<uint8_t>(pair >> (bit % 32) & ((1u << bits) - 1u));
    }
  }

  TensorRows words_;
  TensorRows scales_;
  TensorRows zeros_;
  PackedLayout layout_;
  std::vector<uint32_t> groups_;  // of each input
};

}  // namespace

bool is_packed_ints(const Module& module) {
  const StoredTensor* words = module.find(".weight_packed");
  return words != nullptr && words->type == ElementType::I32 && module.has(".weight_shape") &&
         module.has(".weight_scale");
}

std::unique_ptr<const RowReader> open_packed_ints(const Module& module) {
  const StoredTensor& words = module.get(".weight_packed");
  const StoredTensor& shape = module.get(".weight_shape");
  const std::vector<int64_t> sizes = all_integers(module, shape, 8);
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 1) {
    module.refuse(shape, "expected two sizes from 1");
  }
  const auto outputs = static_cast<uint64_t>(sizes[0]);
  const auto inputs = static_cast<uint64_t>(sizes[1]);
  if (words.rank != 2 || words.shape[0] != outputs || inputs > words.shape[1] * 32) {
    module.refuse(words, "does not fit the shape {} x {}", outputs, inputs);
  }
  return std::make_unique<PackedIntReader>(module, outputs, inputs);
}

}  // namespace tenon::foreign
