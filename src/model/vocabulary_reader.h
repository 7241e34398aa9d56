// Reads a vocabulary's fields from the metadata of a file. The tokenizer checks their meaning.
#pragma once

#include "file/metadata.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Reads the keys "tokenizer.ggml.*". Throws Format for a missing or mistyped key, and for lists
/// whose length differs from the token list's.
Vocabulary read_vocabulary(const Metadata& metadata);

}  // namespace tenon
