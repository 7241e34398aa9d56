// Opens a model of any kind: a GGUF file or a Hugging Face folder.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "file/open.h"

namespace tenon {

/// The folder that a path stands for: itself, or that of its config.json, model.safetensors or
/// index. Empty for any other path, and for a folder without a config.json.
std::string folder_of(const std::string& path, System& system);

/// Opens the path of a GGUF file (any part of a split one), of a folder, or of its config.json,
/// *.safetensors or *.safetensors.index.json. Errors as open_model_file and open_model_folder.
std::shared_ptr<const ModelFile> open_model(const std::string& path, OpenOptions options);

/// Opens the parts of a GGUF file, or the files of a folder: one is named ".../config.json", and
/// the others lie beside it by their names.
std::shared_ptr<const ModelFile> open_model(
    std::span<const std::shared_ptr<const ByteSource>> sources, OpenOptions options);

}  // namespace tenon
