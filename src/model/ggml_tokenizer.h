// Keys of a folder's tokenizer for programs that read no tokenizer.json.
#pragma once

#include <memory>
#include <string>

#include "base/system.h"
#include "file/gguf_output.h"
#include "file/model_file.h"

namespace tenon {

/// Adds the keys "tokenizer.ggml.*" of a file that has a tokenizer.json alone, beside it, or a key
/// that says why there are none (kOnlyTokenizerJsonKey). Adds nothing for other files. The
/// tokenizer.json still counts. Errors as make_json_tokenizer.
void add_ggml_tokenizer(GgufOutput& out, const ModelFile& file,
                        const std::shared_ptr<System>& system);

}  // namespace tenon
