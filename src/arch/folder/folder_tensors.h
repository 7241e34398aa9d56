// The tensors of a folder under their names in GGUF files. Plain ones stay where they are; others
// are computed when they are read.
#pragma once

#include <memory>
#include <optional>
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
