#include "text/bpe/bpe_merges.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

// Tolerated share of merges without a token, since some vocabularies have holes. A larger share
// means that the merges belong to another vocabulary.
constexpr size_t kMergesForOneLost = 16;

/// Counts merges whose text is no token.
class LostMerges {
 public:
  /// Finds the token of a part of merge `i`; counts the merge as lost if there is none.
  std::optional<Token> find(const TokenTable& table, size_t i, std::string_view text,
                            const char* what) {
    const auto token = table.find(text);
    if (!token && count_++ == 0) {
      first_ = fmt::format("merge {}: its {} {} is not in the vocabulary", i, what, quoted(text));
    }
    return token;
  }
  /// Throws Format if too many of `merges` are lost, else adds a warning.
  void finish(const TokenTable& table, size_t merges) const {
    if (count_ == 0) return;
    if (count_ > merges / kMergesForOneLost)
      fail(Code::Format, "tokenizer.ggml.merges: {}", first_);
    table.warn(fmt::format("tokenizer.ggml.merges: {}{}; such merges are left out", first_,
                           count_ > 1 ? fmt::format(", and {} more", count_ - 1) : ""));
  }

 private:
  size_t count_ = 0;
  std::string first_;
};

}  // namespace

MergeTable read_merges(const TokenTable& table, const std::vector<std::string>& merges) {
  if (merges.size() >= Merge::kNoRank) {
    fail(Code::Limit, "tokenizer.ggml.merges: {} merges, the limit is {}", merges.size(),
         Merge::kNoRank - 1);
  }
  MergeTable out(merges.size());
  LostMerges lost;
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
    const auto left_token = lost.find(table, i, left, "left half");
    if (!left_token) continue;
    const auto right_token = lost.find(table, i, right, "right half");
    if (!right_token) continue;
    const auto result = lost.find(table, i, joined, "result");
    // Plain text must never turn into a control token.
    if (!result || table.is_reserved(*result)) continue;
    if (!out.insert(*left_token, *right_token, {static_cast<uint32_t>(i), *result})) {
      fail(Code::Format, "tokenizer.ggml.merges: merge {} ({}) is there twice", i, quoted(merge));
    }
  }
  lost.finish(table, merges.size());
  return out;
}

}  // namespace tenon
