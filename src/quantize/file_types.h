// File types ("Q4_K_M"): the format of each tensor of a model file, as data. Rules are those of
// llama.cpp's llama-quantize, so that files of one type compare.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "quant/formats.h"

namespace tenon {

/// Whether values share a scale in blocks.
inline bool is_quantised(Format format) noexcept { return find_format(format)->block_values > 1; }

/// A named type of files. Its rules for single tensors are in file_types.cpp.
struct FileType {
  const char* name;
  Format format;    ///< of tensors without a rule
  uint32_t number;  ///< general.file_type

  /// Whether it mixes formats by rules alone: its name is that of no format.
  [[nodiscard]] bool is_mix() const { return find_format(std::string_view(name)) == nullptr; }
};

std::span<const FileType> file_types() noexcept;

/// Finds a type by name, ignoring case; "Q3_K", "Q4_K" and "Q5_K" mean the type "..._M". Throws
/// Argument with the nearest name.
const FileType& find_file_type(std::string_view name);

/// Whether a type's formats, or a format, are too coarse for scales that are fitted to the weights
/// alone.
bool needs_importance(const FileType& type) noexcept;
bool needs_importance(Format format) noexcept;

/// Finds a weight format by name, ignoring case. Throws Argument with the nearest name, Unsupported
/// for one without an encoder.
const FormatInfo& find_weight_format(std::string_view name);

/// The type of files whose matrices are of one format, without rules for layers; its number is
/// UINT32_MAX if there is none.
FileType pure_type(const FormatInfo& format);

/// What rules ask of a model.
struct MixFacts {
  uint32_t heads_per_kv_head = 0;  ///< 0 if unknown
  uint32_t experts = 0;
  bool has_importance = false;  ///< an importance matrix is given
  bool is_large_llama = false;  ///< 80 layers with shared KV heads ("70B")
  bool is_falcon = false;
};

/// A tensor of a layer, as rules see it.
struct LayerTensor {
  std::string_view name;  ///< "attn_v", "ffn_down": without layer, ".weight", "_exps", "_shexp"
  uint32_t layer = 0;     ///< position among those of its name
  uint32_t layers = 0;    ///< number of these
  bool is_stack = false;  ///< a matrix for each expert
  uint64_t columns = 0;
};

/// Whether the matrix of this name in a layer makes values of attention. Rules count these by
/// themselves.
bool is_value_matrix(std::string_view name) noexcept;

/// Format of a layer's matrix. If blocks do not fit the rows, one of smaller blocks.
Format layer_format(const FileType& type, const LayerTensor& tensor, const MixFacts& facts = {});
/// Format of the output matrix, and of an embedding used as such.
Format output_format(const FileType& type, uint64_t columns, const MixFacts& facts = {});
/// Format of an embedding beside an output matrix.
Format embedding_format(const FileType& type, uint64_t columns);
/// Returns `format`, or its replacement if rows of `columns` values are not whole blocks.
Format fitting_format(Format format, uint64_t columns);

/// Layer and name in a tensor's name: 3 and "attn_q" for "blk.3.attn_q.weight",
/// "blk.3.attn_q_exps.weight" and "dec.blk.3.attn_q.weight".
struct LayerTensorName {
  uint32_t layer = 0;
  std::string_view name;  ///< empty if in no layer
};
LayerTensorName layer_tensor_name(std::string_view name);

}  // namespace tenon
