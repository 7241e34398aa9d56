// From the metadata of a file to the plain fields of a vocabulary. What the fields mean, and
// whether they make sense, is checked by the tokenizer.
#pragma once

#include "file/metadata.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Reads the keys "tokenizer.ggml.*". Throws Format for a missing or mistyped key, and for lists
/// that are not as long as the list of tokens.
Vocabulary read_vocabulary(const Metadata& metadata);

}  // namespace tenon
