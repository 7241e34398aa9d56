// The tokenizer of RWKV (tokenizer.ggml.model "rwkv"): takes the longest token each time. Callers
// use the Tokenizer interface.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Builds the tokenizer. Errors as in make_tokenizer.
std::unique_ptr<const Tokenizer> make_rwkv_tokenizer(Vocabulary vocabulary,
                                                     std::shared_ptr<System> system);

}  // namespace tenon
