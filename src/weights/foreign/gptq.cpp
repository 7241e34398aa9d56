// Scheme "GPTQ", also of GPTQModel and AutoRound: qweight I32 [in * bits / 32, out] packed along
// inputs, qzeros I32 [groups, out * bits / 32] packed along outputs, scales [groups, out], g_idx
// I32 [in] (the group of each input; may be missing).
//   W[o, i] = scales[g, o] * (q[i, o] - zero[g, o])
// Bits and groups follow from the shapes. The configuration alone tells whether zeros are stored
// less one, whether fields are in planes, and whether they are a stream (AutoRound).
#include <algorithm>

#include "weights/foreign/column_words.h"
#include "weights/foreign/group_reader.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

enum class ZeroKind : uint8_t {
  Middle,  ///< symmetric: half of the range, whatever is stored
  Stored,
  LessOneWords,  ///< one was subtracted from all fields of a word at once: fields borrow
  LessOneFields,
};

/// The group of each input; nothing for consecutive groups, which all zeros mean, too.
std::vector<uint32_t> read_index(const Module& module, uint64_t inputs, uint64_t groups) {
  const StoredTensor* index = module.find(".g_idx");
  if (index == nullptr) return {};
  if (index->num_values() != inputs) {
    module.refuse(*index, "expected a group for each of {} inputs", inputs);
  }
  const std::vector<int64_t> stored = all_integers(module, *index, inputs);
  const uint64_t size = (inputs + groups - 1) / groups;
  bool is_consecutive = true;
  for (uint64_t i = 0; i < inputs; ++i) {
    if (stored[i] < 0 || static_cast<uint64_t>(stored[i]) >= groups) {
      module.refuse(*index, "input {} is in group {} of {}", i, stored[i], groups);
    }
    is_consecutive &= static_cast<uint64_t>(stored[i]) == i / size;
  }
  if (is_consecutive || std::ranges::all_of(stored, [](int64_t group) { return group == 0; })) {
    return {};
  }
  return {stored.begin(), stored.end()};
}

class GptqReader final : public GroupReader {
 public:
  struct Layout {
    uint32_t bits;
    uint64_t inputs;
    uint64_t outputs;
    uint64_t groups;
    bool planar;
    ZeroKind zeros;
  };

  GptqReader(const Module& module, const Layout& layout)
      : GroupReader({layout.outputs, layout.inputs},
                    {layout.bits, (layout.inputs + layout.groups - 1) / layout.groups,
                     layout.groups, GroupSecond::Zero, module.get(".scales").type},
                    read_index(module, layout.inputs, layout.groups)),
        layout_(layout),
        words_(module, module.get(".qweight")),
        zeros_(module, module.get(".qzeros")),
        scales_(module, module.get(".scales"), layout.groups, layout.outputs) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    std::vector<uint32_t> words(words_.rows() * count);
    words_.read(0, words_.rows(), first, count, words.data());
    std::vector<float> stored(layout_.groups * count);
    scales_.read_floats(0, layout_.groups, first, count, stored.data());
    const std::vector<uint8_t> zeros = read_zeros(first, count);
    for (uint64_t o = 0; o < count; ++o) {
      unpack_column(words.data() + o, count, 0, layout_.inputs, layout_.bits, layout_.planar,
                    codes + o * layout_.inputs);
      for (uint64_t g = 0; g < layout_.groups; ++g) {
        scales[o * layout_.groups + g] = stored[g * count + o];
        seconds[o * layout_.groups + g] = static_cast<float>(zeros[g * count + o]);
      }
    }
  }

  /// [groups, count]
  [[nodiscard]] std::vector<uint8_t> read_zeros(uint64_t first, uint64_t count) const {
    const uint32_t bits = layout_.bits;
    std::vector<uint8_t> zeros(layout_.groups * count, static_cast<uint8_t>(1u << (bits - 1)));
    if (layout_.zeros == ZeroKind::Middle) return zeros;
    // Blocks of 32 outputs are whole words.
    const uint64_t block = first / 32;
    const uint64_t first_word = block * bits;
    const uint64_t last_word = std::min(zeros_.columns(), ((first + count + 31) / 32) * bits);
    const uint64_t num_words = last_word - first_word;
    std::vector<uint32_t> words(layout_.groups * num_words);
    zeros_.read(0, layout_.groups, first_word, num_words, words.data());
    if (layout_.zeros == ZeroKind::LessOneWords) {
      uint32_t ones = 0;
      for (uint32_t shift = 0; shift < 32; shift += bits) ones |= 1u << shift;
      for (uint32_t& word : words) word += ones;
    }
    const uint64_t values = num_words * 32 / bits;
    std::vector<uint8_t> codes(values);
    for (uint64_t g = 0; g < layout_.groups; ++g) {
      unpack_column(words.data() + g * num_words, 1, 0, values, bits, layout_.planar, codes.data());
      for (uint64_t o = 0; o < count; ++o) {
        const uint32_t stored = codes[first - block * 32 + o];
        const bool less_one = layout_.zeros == ZeroKind::LessOneFields;
        zeros[g * count + o] =
            static_cast<uint8_t>(less_one ? (stored + 1) & ((1u << bits) - 1) : stored);
      }
    }
    return zeros;
  }

  Layout layout_;
  TensorRows words_;
  TensorRows zeros_;
  TensorRows scales_;
};

ZeroKind zeros_of(const QuantConfig& config, uint32_t bits, bool planar, bool stream) {
  const bool true_zeros = planar || config.gptq_format == "gptq_v2" ||
                          config.packing == "auto_round" ||
                          config.packing.find("gptqmodel") != std::string::npos;
  if (config.is_symmetric && config.gptq_format != "gptq_p") return ZeroKind::Middle;
  if (true_zeros) return ZeroKind::Stored;
  return 32 % bits == 0 && !stream ? ZeroKind::LessOneWords : ZeroKind::LessOneFields;
}

bool is_word_type(const StoredTensor* tensor) {
  return tensor != nullptr &&
         (tensor->type == ElementType::I32 || tensor->type == ElementType::U32);
}

}  // namespace

bool is_gptq(const Module& module) {
  return is_word_type(module.find(".qweight")) && is_word_type(module.find(".qzeros")) &&
         module.has(".scales");
}

std::unique_ptr<const RowReader> open_gptq(const Module& module) {
  const StoredTensor& words = module.get(".qweight");
  const StoredTensor& zeros = module.get(".qzeros");
  const StoredTensor& scales = module.get(".scales");
  if (words.rank != 2 || zeros.rank != 2 || scales.rank != 2 || words.num_values() == 0 ||
      zeros.num_values() == 0 || scales.num_values() == 0) {
    module.refuse(words, "expected matrices, but zeros are {} and scales {}", zeros.text(),
                  scales.text());
  }
  if (!is_float_type(scales.type)) module.refuse(scales, "is no number");
  GptqReader::Layout layout{};
  layout.outputs = words.shape[1];
  layout.groups = scales.shape[0];
  const uint64_t bits = zeros.shape[1] * 32 / layout.outputs;
  const bool fits = scales.shape[1] == layout.outputs && zeros.shape[0] == layout.groups &&
                    bits >= 2 && bits <= 8 && zeros.shape[1] == layout.outputs * bits / 32 &&
                    layout.outputs * bits % 32 == 0 && words.shape[0] * 32 % bits == 0;
  if (!fits) {
    module.refuse(words, "does not fit zeros {} and scales {}", zeros.text(), scales.text());
  }
  layout.bits = static_cast<uint32_t>(bits);
  layout.inputs = words.shape[0] * 32 / bits;
  check_inputs(module, words, layout.inputs);
  if (layout.groups > layout.inputs) {
    module.refuse(scales, "{} groups of {} inputs", layout.groups, layout.inputs);
  }
  const QuantConfig& config = module.config();
  const bool stream = config.is_auto_round();
  layout.planar = config.gptq_format == "gptq_p" || (!stream && bits >= 5 && bits <= 7);
  if (layout.planar && (layout.inputs % 32 != 0 || layout.outputs % 32 != 0)) {
    module.refuse(words, "planes of {} x {} weights are no whole blocks of 32", layout.outputs,
                  layout.inputs);
  }
  layout.zeros = zeros_of(config, layout.bits, layout.planar, stream);
  return std::make_unique<GptqReader>(module, layout);
}

}  // namespace tenon::foreign
