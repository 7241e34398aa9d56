// The tensors of a folder under their names in GGUF files. Plain ones stay where they are; others
// are computed when they are read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/folder/folder_config.h"
#include "file/model_file.h"
#include "file/tensor_folder.h"
#include "weights/foreign/quant_config.h"

namespace tenon {

/// Without the prefixes of classes ("model.", "language_model.").
std::string_view stem_of(std::string_view tensor);

/// Rows of the tensor with this stem, with or without ".weight"; nothing if it is missing.
std::optional<uint64_t> rows_of_stem(const TensorFolder& folder, std::string_view stem);

/// A tensor of a model file that has rows of a folder's tensor.
struct NamedTensor {
  std::string name;
  uint64_t parts = 1;        ///< 2: one half of the rows
  uint64_t part = 0;         ///< which half
  bool takes_turns = false;  ///< every second row instead of a half
  bool adds_one = false;
  bool takes_exp = false;    ///< -exp(value)
  bool is_reshaped = false;  ///< in another way that no member says

  /// Row of the folder's tensor that is row i of `count`.
  [[nodiscard]] uint64_t row(uint64_t i, uint64_t count) const {
    return takes_turns ? 2 * i + part : part * count + i;
  }
};

/// Names for a tensor of a folder by a table (folder_form.h), none for one that is not used;
/// nothing for one that no line names.
///   stem    as stem_of() gives it, without suffix
///   suffix  ".weight", ".bias", or "" for a stack of experts
std::optional<std::vector<NamedTensor>> names_of(std::string_view table, std::string_view stem,
                                                 std::string_view suffix);

struct FolderTensors {
  std::vector<TensorInfo> tensors;
  std::vector<std::shared_ptr<const ByteSource>> sources;  ///< those of the folder come first
};

/// Names the tensors of a folder by a table (folder_form.h), and adds those made of keys.
///   vocab   rows of the output matrix, which some schemes pad; 0 if unknown
///   groups  of heads, for the flag g
/// Throws Unsupported for a tensor that no line names, and as open_rows.
FolderTensors map_tensors(const std::shared_ptr<const TensorFolder>& folder,
                          const std::shared_ptr<const QuantConfig>& config, std::string_view table,
                          std::vector<MadeTensor> made, uint64_t vocab, uint64_t groups);

}  // namespace tenon
