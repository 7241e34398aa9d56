// Turns a SentencePiece BPE vocabulary into a table of merges.
#pragma once

#include <cstdint>
#include <vector>

#include "text/bpe/char_symbols.h"
#include "text/bpe/merge_table.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_boundaries.h"

namespace tenon {

struct SpmMerges {
  CharSymbols characters;
  MergeTable table;
  WordBoundaries boundaries;  ///< no merge crosses them: merge the text between separately
};

/// SentencePiece merges two neighbours if their concatenation is a token, best score first. So
/// every split of a token into two symbols is a merge with the rank of the token's score. Time and
/// memory are linear in the vocabulary's bytes (times log n for sorting).
SpmMerges make_spm_merges(const TokenTable& table);

}  // namespace tenon
