// Scheme "compressed-tensors integers": weight_packed I32 [out, words] of unsigned fields of 1 to 8
// bits packed along inputs, weight_shape [2], weight_scale [out, groups], weight_zero_point I32
// [words of out, groups] packed along outputs (symmetric: none), weight_g_idx I32 [in] (may be
// missing; -1 means unused).
//   W[o, i] = scale[o, g] * (q[o, i] - zero[o, g])
// 3, 5, 6 and 7 bits are a stream in newer files and whole fields with unused bits in older files:
// the number of words tells.
#include <algorithm>
#include <utility>

#include "weights/foreign/bit_packing.h"
#include "weights/foreign/group_reader.h"
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

/// The parts of a weight, checked against each other.
struct PackedParts {
  TensorRows words;
  TensorRows scales;
  TensorRows zeros;  ///< may be empty
  PackedLayout layout;
  std::vector<uint32_t> index;  ///< group of each input; empty: consecutive
};

std::vector<uint32_t> read_index(const Module& module, uint64_t inputs, const TensorRows& scales) {
  const uint64_t groups = scales.columns();
  const StoredTensor* index = module.find(".weight_g_idx");
  std::vector<int64_t> stored;
  if (index != nullptr) stored = all_integers(module, *index, inputs);
  const bool is_used = !stored.empty() && std::ranges::min(stored) >= 0;
  if (is_used &&
      (stored.size() != inputs || static_cast<uint64_t>(std::ranges::max(stored)) >= groups)) {
    module.refuse(*index, "expected one of {} groups for each of {} inputs", groups, inputs);
  }
  if (!is_used) {
    if (inputs % groups == 0) return {};
    module.refuse(scales.tensor(), "{} groups do not divide {} inputs", groups, inputs);
  }
  return {stored.begin(), stored.end()};
}

PackedParts read_parts(const Module& module, uint64_t outputs, uint64_t inputs) {
  PackedParts parts;
  parts.words = TensorRows(module, module.get(".weight_packed"));
  check_inputs(module, parts.words.tensor(), inputs);
  const StoredTensor& scale = module.get(".weight_scale");
  if (!is_float_type(scale.type)) module.refuse(scale, "is no number");
  const uint64_t groups = scale.num_values() / outputs;
  if (groups == 0 || groups > inputs) {
    module.refuse(scale, "expected groups of {} x {} weights", outputs, inputs);
  }
  parts.scales = TensorRows(module, scale, outputs, groups);
  uint64_t zero_words = 0;
  if (const StoredTensor* zero = module.find(".weight_zero_point")) {
    require_type(module, *zero, ElementType::I32);
    parts.zeros = TensorRows(module, *zero);
    if (parts.zeros.columns() != groups) module.refuse(*zero, "expected {} groups", groups);
    zero_words = parts.zeros.rows();
  }
  parts.layout = layout_of(module, parts.words.tensor(), inputs, outputs, zero_words);
  parts.index = read_index(module, inputs, parts.scales);
  return parts;
}

class PackedIntReader final : public GroupReader {
 public:
  PackedIntReader(PackedParts parts, uint64_t outputs, uint64_t inputs)
      : GroupReader({outputs, inputs},
                    {parts.layout.bits, inputs / parts.scales.columns(), parts.scales.columns(),
                     GroupSecond::Zero, parts.scales.type()},
                    std::move(parts.index)),
        words_(parts.words),
        scales_(parts.scales),
        zeros_(parts.zeros),
        layout_(parts.layout) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    const uint64_t inputs = size().columns;
    const uint64_t num_groups = scales_.columns();
    std::vector<uint32_t> words(words_.columns());
    std::vector<uint8_t> zeros(num_groups, static_cast<uint8_t>(1u << (layout_.bits - 1)));
    scales_.read_floats(first, count, scales);
    for (uint64_t o = 0; o < count; ++o) {
      words_.read(first + o, 1, words.data());
      if (!zeros_.empty()) read_zeros(first + o, zeros);
      std::ranges::copy(zeros, seconds + o * num_groups);
      uint8_t* row = codes + o * inputs;
      if (layout_.is_stream) {
        unpack_stream(reinterpret_cast<const uint8_t*>(words.data()), 0, inputs, layout_.bits, row);
      } else {
        for (uint64_t i = 0; i < inputs; ++i) row[i] = field_at(words.data(), i, layout_.bits);
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
  return std::make_unique<PackedIntReader>(read_parts(module, outputs, inputs), outputs, inputs);
}

}  // namespace tenon::foreign
