// Scheme "AWQ": 4 bits with zeros as they are.
//   gemm: qweight I32 [in, out / 8], qzeros I32 [groups, out / 8], scales [groups, out]; nibble k
//         of a word, from the lowest, is output 0 2 4 6 1 3 5 7 of its eight
//   gemv: qweight I32 [out, in / 8], qzeros I32 [out, words], scales [out, 8 * words]; nibbles in
//         order; groups beyond the last are padding
//   W[o, i] = scales[g, o] * (q - zero[g, o])
// Shapes tell it from GPTQ, whose words have as many columns as its scales.
#include "weights/foreign/group_reader.h"
#include "weights/foreign/scheme_list.h"

namespace tenon::foreign {
namespace {

/// Nibble of output j of eight.
constexpr uint32_t kNibbleOf[8] = {0, 4, 1, 5, 2, 6, 3, 7};

CodeGroups awq_groups(const Module& module, uint64_t size, uint64_t count) {
  return {4, size, count, GroupSecond::Zero, module.get(".scales").type};
}

class AwqGemmReader final : public GroupReader {
 public:
  AwqGemmReader(const Module& module, uint64_t inputs, uint64_t outputs, uint64_t groups)
      : GroupReader({outputs, inputs}, awq_groups(module, inputs / groups, groups)),
        words_(module, module.get(".qweight")),
        zeros_(module, module.get(".qzeros")),
        scales_(module, module.get(".scales")) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    const uint64_t inputs = size().columns;
    const uint64_t num_groups = scales_.rows();
    const uint64_t first_word = first / 8;
    const uint64_t num_words = (first + count + 7) / 8 - first_word;
    std::vector<uint32_t> words(inputs * num_words);
    words_.read(0, inputs, first_word, num_words, words.data());
    std::vector<uint32_t> zeros(num_groups * num_words);
    zeros_.read(0, num_groups, first_word, num_words, zeros.data());
    std::vector<float> stored(num_groups * count);
    scales_.read_floats(0, num_groups, first, count, stored.data());
    for (uint64_t o = 0; o < count; ++o) {
      const uint64_t word = (first + o) / 8 - first_word;
      const uint32_t shift = 4 * kNibbleOf[(first + o) % 8];
      for (uint64_t g = 0; g < num_groups; ++g) {
        scales[o * num_groups + g] = stored[g * count + o];
        seconds[o * num_groups + g] =
            static_cast<float>(zeros[g * num_words + word] >> shift & 15u);
      }
      for (uint64_t i = 0; i < inputs; ++i) {
        codes[o * inputs + i] = static_cast<uint8_t>(words[i * num_words + word] >> shift & 15u);
      }
    }
  }

  TensorRows words_;
  TensorRows zeros_;
  TensorRows scales_;
};

class AwqGemvReader final : public GroupReader {
 public:
  AwqGemvReader(const Module& module, uint64_t outputs, uint64_t inputs, uint64_t group)
      : GroupReader({outputs, inputs}, awq_groups(module, group, inputs / group)),
        words_(module, module.get(".qweight")),
        zeros_(module, module.get(".qzeros")),
        scales_(module, module.get(".scales")) {}

 private:
  void read_groups(uint64_t first, uint64_t count, uint8_t* codes, float* scales,
                   float* seconds) const override {
    const uint64_t inputs = size().columns;
    const uint64_t num_groups = groups().count;
    std::vector<uint32_t> words(words_.columns());
    std::vector<uint32_t> zeros(zeros_.columns());
    const auto nibble = [](const std::vector<uint32_t>& from, uint64_t k) {
      return from[k / 8] >> (k % 8 * 4) & 15u;
    };
    for (uint64_t o = 0; o < count; ++o) {
      words_.read(first + o, 1, words.data());
      zeros_.read(first + o, 1, zeros.data());
      scales_.read_floats(first + o, 1, 0, num_groups, scales + o * num_groups);
      for (uint64_t g = 0; g < num_groups; ++g) {
        seconds[o * num_groups + g] = static_cast<float>(nibble(zeros, g));
      }
      for (uint64_t i = 0; i < inputs; ++i) {
        codes[o * inputs + i] = static_cast<uint8_t>(nibble(words, i));
      }
    }
  }

  TensorRows words_;
  TensorRows zeros_;
  TensorRows scales_;
};

struct AwqParts {
  const StoredTensor* words;
  const StoredTensor* zeros;
  const StoredTensor* scales;
};

bool find_awq_parts(const Module& module, AwqParts& parts) {
  parts = {module.find(".qweight"), module.find(".qzeros"), module.find(".scales")};
  for (const StoredTensor* part : {parts.words, parts.zeros, parts.scales}) {
    if (part == nullptr || part->rank != 2 || part->num_values() == 0) return false;
  }
  return parts.words->type == ElementType::I32 && parts.zeros->type == ElementType::I32 &&
         is_float_type(parts.scales->type);
}

bool is_gemm(const AwqParts& parts) {
  return parts.scales->shape[1] == parts.words->shape[1] * 8 &&
         parts.zeros->shape[1] == parts.words->shape[1] &&
         parts.zeros->shape[0] == parts.scales->shape[0];
}

/// As GPTQ such a tensor would have groups of 32 / bits inputs.
bool is_gemv(const AwqParts& parts) {
  return parts.scales->shape[0] == parts.words->shape[0] &&
         parts.zeros->shape[0] == parts.words->shape[0] &&
         parts.scales->shape[1] == parts.zeros->shape[1] * 8;
}

}  // namespace

bool is_awq(const Module& module) {
  AwqParts parts{};
  if (!find_awq_parts(module, parts) || module.has(".g_idx")) return false;
  return is_gemm(parts) || is_gemv(parts);
}

std::unique_ptr<const RowReader> open_awq(const Module& module) {
  AwqParts parts{};
  find_awq_parts(module, parts);
  const uint64_t rows = parts.words->shape[0];
  if (is_gemm(parts)) {
    const uint64_t groups = parts.scales->shape[0];
    if (rows % groups != 0) module.refuse(*parts.scales, "does not divide {} inputs", rows);
    return std::make_unique<AwqGemmReader>(module, rows, parts.scales->shape[1], groups);
  }
  const uint64_t inputs = parts.words->shape[1] * 8;
  const uint64_t group = module.config().group_size;
  if (group == 0 || inputs % group != 0 || inputs / group > parts.scales->shape[1]) {
    module.refuse(*parts.scales, "holds no groups of {} of {} inputs", group, inputs);
  }
  return std::make_unique<AwqGemvReader>(module, rows, inputs, group);
}

}  // namespace tenon::foreign
