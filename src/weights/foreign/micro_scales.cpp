// Scheme "block floats": small floats in blocks of 16 or 32 columns with a scale each.
//   W[r, c] = element[r, c] * (scale[r, c / block] * factor)
// MXFP4, MXFP6, MXFP8 and NVFP4 of compressed-tensors, ModelOpt, Quark, DeepSeek-V4, gpt-oss, MLX.
#include <algorithm>
#include <bit>

#include "weights/foreign/bit_packing.h"
#include "weights/foreign/scheme_list.h"
#include "weights/foreign/small_floats.h"

namespace tenon::foreign {
namespace {

enum class Factor : uint8_t { None, Multiplies, Divides, MlxMaximum };

/// Tensors and widths of a form.
struct BlockForm {
  const StoredTensor* codes = nullptr;
  const StoredTensor* scales = nullptr;
  const StoredTensor* factor = nullptr;
  uint32_t element_bits = 4;
  uint32_t block = 32;
  const float* scale_table = kE8M0;
  Factor factor_is = Factor::None;
};

bool is_byte_type(const StoredTensor* tensor) {
  return tensor != nullptr &&
         (tensor->type == ElementType::U8 || tensor->type == ElementType::E8M0);
}

/// Bytes in a row over scales in a row; 0 for no whole number.
uint64_t ratio_of(const StoredTensor& codes, const StoredTensor& scales, uint64_t code_bytes) {
  if (codes.rank == 0 || scales.rank == 0) return 0;
  const uint64_t have = scales.shape[scales.rank - 1];
  const uint64_t bytes = codes.shape[codes.rank - 1];
  if (have == 0 || bytes > UINT64_MAX / code_bytes || bytes * code_bytes % have != 0) return 0;
  return bytes * code_bytes / have;
}

/// "weight_packed" of compressed-tensors, told by the bytes for each scale.
bool find_packed(const Module& module, BlockForm& form) {
  form.codes = module.find(".weight_packed");
  form.scales = module.find(".weight_scale");
  if (form.codes == nullptr || form.codes->type != ElementType::U8 || form.scales == nullptr) {
    return false;
  }
  const uint64_t ratio = ratio_of(*form.codes, *form.scales, 1);
  if (ratio == 8) {
    form.block = 16;
    form.factor = module.find(".weight_global_scale");
    if (form.factor != nullptr && form.scales->type == ElementType::E4M3) {
      form.scale_table = kE4M3;
      form.factor_is = Factor::Divides;
      return true;
    }
    form.scale_table = kUnsignedE5M3;
    return form.factor == nullptr && form.scales->type == ElementType::U8;
  }
  form.element_bits = ratio == 24 ? 6 : 4;
  return (ratio == 16 || ratio == 24) && is_byte_type(form.scales);
}

/// "weight" of bytes of ModelOpt, Quark and DeepSeek-V4.
bool find_weight(const Module& module, BlockForm& form) {
  form.codes = module.weight();
  if (form.codes == nullptr) return false;
  form.scales = module.find(".weight_scale");
  if (form.codes->type == ElementType::I8) {
    form.scales = module.find(".scale");
    return form.scales != nullptr && form.scales->type == ElementType::E8M0 &&
           ratio_of(*form.codes, *form.scales, 1) == 16;
  }
  if (form.scales == nullptr) return false;
  if (form.codes->type == ElementType::U8 && form.scales->type == ElementType::E4M3) {
    form.block = 16;
    form.scale_table = kE4M3;
    form.factor = module.find(".weight_scale_2");
    form.factor_is = Factor::Multiplies;
    return form.factor != nullptr && ratio_of(*form.codes, *form.scales, 1) == 8;
  }
  if (!is_byte_type(form.scales) || form.scales->rank < 2) return false;
  if (form.codes->type == ElementType::U8) {
    return ratio_of(*form.codes, *form.scales, 1) == 16;
  }
  // One scale for a row of a tile is no block of this row.
  form.element_bits = 8;
  return form.codes->type == ElementType::E4M3 && form.codes->rank == form.scales->rank &&
         form.codes->dim(form.codes->rank - 2) == form.scales->dim(form.scales->rank - 2) &&
         ratio_of(*form.codes, *form.scales, 1) == 32;
}

/// Words of MLX with scales of bytes, told by the bytes for each scale.
bool find_mlx(const Module& module, BlockForm& form) {
  form.codes = module.weight();
  form.scales = module.find(".scales");
  if (form.codes == nullptr || form.codes->type != ElementType::U32 || form.scales == nullptr ||
      form.scales->type != ElementType::U8 || module.has(".biases")) {
    return false;
  }
  switch (ratio_of(*form.codes, *form.scales, 4)) {
    case 8:
      form.block = 16;
      form.scale_table = kE4M3;
      form.factor = module.find(".global_scale");
      if (form.factor != nullptr) form.factor_is = Factor::MlxMaximum;
      return true;
    case 16:
      return true;
    case 32:
      form.element_bits = 8;
      return true;
    default:
      return false;
  }
}

/// The stacks of gpt-oss: [experts, rows, blocks, 16].
bool find_stack(const Module& module, BlockForm& form) {
  form.codes = module.find("_blocks");
  form.scales = module.find("_scales");
  return form.codes != nullptr && form.scales != nullptr && form.codes->type == ElementType::U8 &&
         form.codes->rank >= 2 && form.codes->shape[form.codes->rank - 1] == 16 &&
         is_byte_type(form.scales);
}

bool find_form(const Module& module, BlockForm& form) {
  for (const auto find : {find_stack, find_packed, find_mlx, find_weight}) {
    form = {};
    if (find(module, form)) return true;
  }
  return false;
}

class BlockFloatReader final : public RowReader {
 public:
  BlockFloatReader(const Module& module, const BlockForm& form, uint64_t rows, uint64_t row_bytes)
      : RowReader({rows, row_bytes * 8 / form.element_bits}),
        form_(form),
        codes_(module, *form.codes, rows, row_bytes / (info_of(form.codes->type).bits / 8)),
        row_bytes_(row_bytes),
        scales_(module, *form.scales, rows, size().columns / form.block) {
    if (size().columns % form.block != 0) {
      module.refuse(*form.codes, "{} columns are no whole blocks of {}", size().columns,
                    form.block);
    }
    if (form.factor == nullptr) return;
    factors_ = all_floats(module, *form.factor, rows);
    if (rows % factors_.size() != 0) module.refuse(*form.factor, "does not divide {} rows", rows);
    for (float& factor : factors_) {
      if (form.factor_is == Factor::Divides) factor = 1.0f / factor;
      if (form.factor_is == Factor::MlxMaximum) factor = factor / 2688.0f;  // 6 * 448
    }
  }

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    std::vector<uint8_t> codes(row_bytes_);
    std::vector<uint8_t> scales(scales_.columns());
    std::vector<uint8_t> elements(form_.element_bits == 6 ? size().columns : 0);
    for (uint64_t i = 0; i < count; ++i) {
      codes_.read(first + i, 1, codes.data());
      scales_.read(first + i, 1, scales.data());
      const float factor =
          factors_.empty() ? 1.0f : factors_[(first + i) / (size().rows / factors_.size())];
      if (form_.element_bits == 6) {
        unpack_stream(codes.data(), 0, size().columns, 6, elements.data());
      }
      float* values = out + i * size().columns;
      for (uint64_t b = 0; b < scales.size(); ++b) {
        const float scale = form_.scale_table[scales[b]] * factor;
        const uint64_t begin = b * form_.block;
        if (form_.element_bits == 4) {
          for (uint64_t c = 0; c < form_.block; c += 2) {
            const uint8_t pair = codes[(begin + c) / 2];
            values[begin + c] = kE2M1Table[pair & 15] * scale;
            values[begin + c + 1] = kE2M1Table[pair >> 4] * scale;
          }
          continue;
        }
        for (uint64_t c = begin; c < begin + form_.block; ++c) {
          const float element = form_.element_bits == 8 ? kE4M3[codes[c]] : kE2M3Table[elements[c]];
          values[c] = element * scale;
        }
      }
    }
  }

  /// MXFP4 as the blocks of GGUF; MXFP8 with its scales as f32.
  [[nodiscard]] std::optional<Format> packed_format() const override {
    if (form_.block != 32 || form_.scale_table != kE8M0 || form_.factor != nullptr) return {};
    if (form_.element_bits == 4) return Format::MXFP4;
    return form_.element_bits == 8 ? std::optional(Format::F8G32) : std::nullopt;
  }

  void read_blocks(uint64_t first, uint64_t count, std::byte* out) const override {
    std::vector<uint8_t> codes(row_bytes_);
    std::vector<uint8_t> scales(scales_.columns());
    const auto put = [&](const auto& block) {
      std::memcpy(out, &block, sizeof(block));
      out += sizeof(block);
    };
    for (uint64_t i = 0; i < count; ++i) {
      codes_.read(first + i, 1, codes.data());
      scales_.read(first + i, 1, scales.data());
      const uint8_t* from = codes.data();
      for (const uint8_t scale : scales) {
        if (scale == kNoScale) {
          codes_.refuse("row {} has a scale that is no number (code 255)", first + i);
        }
        if (form_.element_bits == 8) {
          BlockF8G32 block;
          put_word(block.scale, std::bit_cast<uint32_t>(kE8M0[scale]));
          std::memcpy(block.qs, from, sizeof(block.qs));
          put(block);
          from += 32;
          continue;
        }
        BlockMXFP4 block;
        block.e = scale;
        for (uint32_t j = 0; j < 16; ++j) {
          const auto code = [&](uint32_t k) { return from[k / 2] >> (k % 2 * 4) & 15; };
          block.qs[j] = static_cast<uint8_t>(code(j) | code(j + 16) << 4);
        }
        put(block);
        from += 16;
      }
    }
  }

  static constexpr uint8_t kNoScale = 255;

  BlockForm form_;
  TensorRows codes_;
  uint64_t row_bytes_;
  TensorRows scales_;
  std::vector<float> factors_;  // one for each of equal parts of the rows; or empty
};

}  // namespace

bool is_micro_scales(const Module& module) {
  BlockForm form;
  return find_form(module, form);
}

std::unique_ptr<const RowReader> open_micro_scales(const Module& module) {
  BlockForm form;
  find_form(module, form);
  const StoredTensor& codes = *form.codes;
  const TensorRows rows(module, codes);
  if (module.find("_blocks") == form.codes) {
    const uint64_t blocks = codes.shape[codes.rank - 2];
    return std::make_unique<BlockFloatReader>(module, form, rows.rows() / blocks, blocks * 16);
  }
  return std::make_unique<BlockFloatReader>(module, form, rows.rows(),
                                            rows.columns() * rows.element_bytes());
}

}  // namespace tenon::foreign
