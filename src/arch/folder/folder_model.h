// Opens a Hugging Face folder as a model file: config.json as the metadata of a GGUF file of that
// architecture, tensors under their names there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/system.h"
#include "file/file_folder.h"
#include "file/model_file.h"

namespace tenon {

/// Opens a folder with a config.json. Reads headers and JSON only. The tokenizer is the value of
/// "tokenizer.huggingface.json", if the folder has one; roles of tokens are in keys of
/// folder_keys.h. Throws Unsupported for an architecture whose folders are not known, a key that
/// may change the result and is not computed, an unknown tensor; Format for what is damaged. Errors
/// name the file.
std::shared_ptr<const ModelFile> open_model_folder(const std::shared_ptr<const FileFolder>& folder,
                                                   const std::shared_ptr<System>& system,
                                                   std::vector<MetadataOverride> overrides = {});

struct FolderForm;
/// All lines that name tensors of a form (FolderForm::tensors).
std::string tensor_table(const FolderForm& form);

}  // namespace tenon
