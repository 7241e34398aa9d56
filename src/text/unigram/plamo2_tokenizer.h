// The tokenizer of PLaMo 2 (tokenizer.ggml.model "plamo2"): the best segmentation from the end of
// the text. Callers use the Tokenizer interface.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Builds the tokenizer. Errors as in make_tokenizer.
std::unique_ptr<const Tokenizer> make_plamo2_tokenizer(Vocabulary vocabulary,
                                                       std::shared_ptr<System> system);

}  // namespace tenon
