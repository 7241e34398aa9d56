// BPE over characters with a list of merges, as in Gemma 4. Callers use the Tokenizer interface.
#pragma once

#include <memory>

#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Builds the tokenizer. pre_tokenizer: for vocabularies that spell characters. Errors as in
/// make_tokenizer.
std::unique_ptr<const Tokenizer> make_char_bpe_tokenizer(Vocabulary vocabulary,
                                                         std::shared_ptr<System> system,
                                                         const PreTokenizer& pre_tokenizer);

}  // namespace tenon
