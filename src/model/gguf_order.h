// Models as GGUF files have them: the matrices of experts are one tensor, and in some architectures
// the rows of q and k are in another order than in folders.
#pragma once

#include <memory>
#include <string>

#include "base/system.h"
#include "file/model_file.h"

namespace tenon {

/// Opens a model whose tensors are to be written, or named, as in a GGUF file. Errors as open_model.
std::shared_ptr<const ModelFile> open_in_gguf_order(const std::string& path,
                                                    const std::shared_ptr<System>& system);

}  // namespace tenon
