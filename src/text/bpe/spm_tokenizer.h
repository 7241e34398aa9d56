// The SentencePiece BPE tokenizer (tokenizer.ggml.model "llama"); callers see it as a Tokenizer.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Errors as make_tokenizer.
std::unique_ptr<const Tokenizer> make_spm_tokenizer(Vocabulary vocabulary,
                                                    std::shared_ptr<System> system);

}  // namespace tenon
