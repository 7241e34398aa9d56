// Reads a vocabulary's list of merges (tokenizer.ggml.merges) into a table.
#pragma once

#include <string>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/tokenizer/token_table.h"

namespace tenon {

/// merges: "left right", best first. Published vocabularies have a token for both halves and the
/// result of every merge, and no merge twice; other lists would tokenize differently from their
/// model. Throws Format naming the merge.
MergeTable read_merges(const TokenTable& table, const std::vector<std::string>& merges);

}  // namespace tenon
