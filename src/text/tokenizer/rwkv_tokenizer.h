// The tokenizer of RWKV (tokenizer.ggml.model "rwkv"): the longest token each time. Callers see it
// as a Tokenizer.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Errors as make_tokenizer.
std::unique_ptr<const Tokenizer> make_rwkv_tokenizer(Vocabulary vocabulary,
                                                     std::shared_ptr<System> system);

}  // namespace tenon
