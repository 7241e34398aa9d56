#include "text/bpe/spm_merges.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

constexpr Token kNone = -1;

/// A part of a token that is itself a symbol.
struct Part {
  size_t size;  // bytes
  Symbol symbol;
};

/// For each token, the longest other token that is its prefix, or kNone: [vocab]. texts [vocab];
/// empty texts are skipped.
std::vector<Token> longest_beginnings(const std::vector<std::string>& texts) {
  std::vector<Token> order;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!texts[i].empty()) order.push_back(static_cast<Token>(i));
  }
  const auto text = [&texts](Token token) -> const std::string& {
    return texts[static_cast<size_t>(token)];
  };
  std::sort(order.begin(), order.end(), [&](Token a, Token b) { return text(a) < text(b); });
  // Sorted, all tokens with a given prefix directly follow it.
  std::vector<Token> beginnings(texts.size(), kNone);
  std::vector<Token> open;
  for (const Token token : order) {
    while (!open.empty() && !text(token).starts_with(text(open.back()))) open.pop_back();
    if (!open.empty()) beginnings[static_cast<size_t>(token)] = open.back();
    open.push_back(token);
  }
  return beginnings;
}

/// Collects the parts that begin (or end) a token, longest first, from a chain of
/// longest_beginnings. Adds the single character if it is no token.
void collect_parts(Token token, const std::vector<Token>& chain,
                   const std::vector<std::string>& texts, Part character, std::vector<Part>& out) {
  out.clear();
  for (Token t = chain[static_cast<size_t>(token)]; t != kNone; t = chain[static_cast<size_t>(t)]) {
    out.push_back({texts[static_cast<size_t>(t)].size(), t});
  }
  if (character.symbol < 0) out.push_back(character);
}

size_t last_char_begin(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && utf8_continues(text[at])) --at;
  return at;
}

/// Texts of the tokens that merging may produce, by token; others are empty: [vocab].
std::vector<std::string> mergeable_texts(const TokenTable& table) {
  std::vector<std::string> texts(table.size());
  for (Token token = 0; table.contains(token); ++token) {
    // User text must become neither a control token nor a byte token by spelling it.
    if (table.is_reserved(token) || table.type(token) == TokenType::Byte) continue;
    if (table.is_twin(token)) continue;
    const std::string_view spelling = table.spelling(token);
    if (utf8_valid_prefix(spelling) != spelling.size()) continue;
    texts[static_cast<size_t>(token)] = spelling;
  }
  return texts;
}

/// Ranks by descending score; equal scores share one: [vocab].
std::vector<uint32_t> ranks_by_score(const TokenTable& table) {
  std::vector<float> scores(table.size());
  for (Token t = 0; table.contains(t); ++t) scores[static_cast<size_t>(t)] = table.score(t);
  std::vector<float> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<uint32_t> ranks(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), scores[i], std::greater<>());
    ranks[i] = static_cast<uint32_t>(place - sorted.begin());
  }
  return ranks;
}

struct NewMerge {
  Symbol left;
  Symbol right;
  Merge merge;
};

}  // namespace

SpmMerges make_spm_merges(const TokenTable& table) {
  const std::vector<std::string> texts = mergeable_texts(table);
  CharSymbols characters;
  WordBoundaries boundaries(" ");
  std::vector<std::string> reversed = texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::reverse(reversed[i].begin(), reversed[i].end());
    boundaries.add(texts[i]);
    if (texts[i].empty()) continue;
    const CodePoint first = utf8_decode_valid(texts[i].data());
    if (first.size == texts[i].size()) characters.set(first.code, static_cast<Symbol>(i));
  }

  const std::vector<Token> beginnings = longest_beginnings(texts);
  const std::vector<Token> endings = longest_beginnings(reversed);
  const std::vector<uint32_t> ranks = ranks_by_score(table);
  std::vector<NewMerge> merges;
  std::vector<Part> lefts;
  std::vector<Part> rights;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string& text = texts[i];
    if (text.empty()) continue;
    const CodePoint first = utf8_decode_valid(text.data());
    if (first.size == text.size()) continue;
    const size_t last_at = last_char_begin(text);
    const CodePoint last = utf8_decode_valid(text.data() + last_at);
    const auto token = static_cast<Token>(i);
    collect_parts(token, beginnings, texts, {first.size, characters.of(first.code)}, lefts);
    collect_parts(token, endings, texts, {last.size, characters.of(last.code)}, rights);
    size_t r = rights.size();
    for (const Part& left : lefts) {  // pair the longest left with the shortest right
      while (r > 0 && left.size + rights[r - 1].size < text.size()) --r;
      if (r == 0) break;
      if (left.size + rights[r - 1].size > text.size()) continue;
      merges.push_back({left.symbol, rights[r - 1].symbol, {ranks[i], token}});
    }
  }
  MergeTable out(merges.size());
  for (const NewMerge& m : merges) out.insert(m.left, m.right, m.merge);
  return {std::move(characters), std::move(out), boundaries};
}

}  // namespace tenon
