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
  WordBoundaries boundaries;  ///< which no merge crosses: what lies between is merged alone
};

/// SentencePiece merges two neighbours whenever their joined text is a token, best score first. So
/// every way to cut a token into two symbols is a merge with the rank of its score. Time and memory
/// are in proportion to the bytes of the vocabulary (times log n for sorting).
SpmMerges make_spm_merges(const TokenTable& table);

}  // namespace tenon
