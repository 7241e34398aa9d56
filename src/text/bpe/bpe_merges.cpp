#include "text/bpe/bpe_merges.h"

#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

/// The token named by `half` of merge `i`.
Token merge_token(const TokenTable& table, size_t i, std::string_view text, const char* what) {
  const auto token = table.find(text);
  if (!token) {
    fail(Code::Format, "tokenizer.ggml.merges: merge {}: its {} {} is not in the vocabulary", i,
         what, quoted(text));
  }
  return *token;
}

}  // namespace

MergeTable read_merges(const TokenTable& table, const std::vector<std::string>& merges) {
  if (merges.size() >= Merge::kNoRank) {
    fail(Code::Limit, "tokenizer.ggml.merges: {} merges, the limit is {}", merges.size(),
         Merge::kNoRank - 1);
  }
  MergeTable out(merges.size());
  std::string joined;
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view merge = merges[i];
    const size_t space = merge.find(' ');
    if (space == 0 || space >= merge.size() - 1) {
      fail(Code::Format, "tokenizer.ggml.merges: merge {} is {}, not two tokens and a space", i,
           quoted(merge));
    }
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    joined.assign(left).append(right);
    const Token left_token = merge_token(table, i, left, "left half");
    const Token right_token = merge_token(table, i, right, "right half");
    const Token result = merge_token(table, i, joined, "result");
    // Plain text must never turn into a control token.
    if (table.is_reserved(result)) continue;
    if (!out.insert(left_token, right_token, {static_cast<uint32_t>(i), result})) {
      fail(Code::Format, "tokenizer.ggml.merges: merge {} ({}) is there twice", i, quoted(merge));
    }
  }
  return out;
}

}  // namespace tenon
