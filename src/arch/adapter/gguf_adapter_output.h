// Writes an adapter as a GGUF file, in the form that llama.cpp reads.
#pragma once

#include <memory>
#include <string>

#include "arch/adapter/adapter.h"
#include "base/system.h"
#include "file/model_file.h"

namespace tenon {

/// Writes an adapter, complete or not at all. Factors that the file's one alpha does not give
/// (rsLoRA, patterns) are multiplied into B.
///   model  for which it was read, with rows in the order of GGUF files
/// Throws Unsupported for changes that the format cannot say (DoRA, biases, saved modules), naming
/// the tensor; Io, NoMemory.
void write_gguf_adapter(const std::shared_ptr<System>& system, const Adapter& adapter,
                        const ModelFile& model, const std::string& path);

}  // namespace tenon
