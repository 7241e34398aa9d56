// The tokenizer of PLaMo 2 (tokenizer.ggml.model "plamo2"): the best cut from the end of the text.
// Callers see it as a Tokenizer.
#pragma once

#include <memory>

#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Errors as make_tokenizer.
std::unique_ptr<const Tokenizer> make_plamo2_tokenizer(Vocabulary vocabulary,
                                                       std::shared_ptr<System> system);

}  // namespace tenon
