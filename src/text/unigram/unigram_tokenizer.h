// The Unigram tokenizer of SentencePiece (tokenizer.ggml.model "t5"). Callers use the Tokenizer
// interface.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Builds the tokenizer. Errors as in make_tokenizer.
std::unique_ptr<const Tokenizer> make_unigram_tokenizer(Vocabulary vocabulary,
                                                        std::shared_ptr<System> system);

}  // namespace tenon
