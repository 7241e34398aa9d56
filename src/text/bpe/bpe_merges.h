// The merges of a vocabulary that lists them (tokenizer.ggml.merges), as a table.
#pragma once

#include <string>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/tokenizer/token_table.h"

namespace tenon {

/// merges: "left right", best first. Published vocabularies have every half and every result of a
/// merge, and no merge twice; a list that does not would cut text in ways its model never saw.
/// Throws Error(Format) naming the merge.
MergeTable read_merges(const TokenTable& table, const std::vector<std::string>& merges);

}  // namespace tenon
