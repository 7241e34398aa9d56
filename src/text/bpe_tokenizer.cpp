#include "text/bpe_tokenizer.h"

#include <array>
#include <string>

#include "base/error.h"
#include "base/utf8.h"
#include "text/byte_alphabet.h"
#include "text/merger.h"
#include "text/pre_tokenizer.h"
#include "text/token_table.h"
#include "text/utf8_codec.h"
#include "text/word_cache.h"

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

/// Published vocabularies have every half and every result of a merge, and no merge twice; a list
/// that does not would cut text in ways its model never saw.
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
    if (table.is_structure(result)) continue;
    if (!out.insert(left_token, right_token, {static_cast<uint32_t>(i), result})) {
      fail(Code::Format, "tokenizer.ggml.merges: merge {} ({}) is there twice", i, quoted(merge));
    }
  }
  return out;
}

/// The symbol of each byte: its token, or ~byte. Published vocabularies lack bytes that their
/// training text never had (falcon has no U+0003, starcoder no 0xF1), but never all.
std::array<Symbol, 256> byte_symbols(const TokenTable& table) {
  std::array<Symbol, 256> symbols{};
  bool any = false;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), letter);
    const auto token = table.find(letter);
    // Deepseek has user-defined tokens such as U+00F6 that are letters of text, not bytes.
    const bool usable = token && table.type(*token) == TokenType::Normal;
    symbols[static_cast<size_t>(byte)] = usable ? *token : ~byte;
    any = any || usable;
  }
  if (!any) fail(Code::Format, "tokenizer.ggml.tokens: there is no token for any single byte");
  return symbols;
}

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::unique_ptr<const TokenTable> token_table, const PreTokenizer& pre_tokenizer,
               const std::vector<std::string>& merges)
      : Tokenizer(std::move(token_table)),
        pre_tokenizer_(pre_tokenizer),
        bytes_(byte_symbols(table())),
        merges_(read_merges(table(), merges)) {}

 private:
  void encode_text(std::string_view text, bool, std::vector<Token>& out) const override {
    WordCache cache(text.size());
    std::vector<Symbol> symbols;
    split_words(pre_tokenizer_.patterns, text, [&](std::string_view word) {
      if (const auto known = cache.find(word)) {
        out.insert(out.end(), known->begin(), known->end());
        return;
      }
      const size_t before = out.size();
      encode_word(word, symbols, out);
      cache.insert(word, std::span(out).subspan(before));
    });
  }

  /// `symbols` is scratch, kept from word to word.
  void encode_word(std::string_view word, std::vector<Symbol>& symbols,
                   std::vector<Token>& out) const {
    if (pre_tokenizer_.whole_words) {
      if (const auto token = whole_word(word)) return out.push_back(*token);
    }
    symbols.resize(word.size());
    for (size_t i = 0; i < word.size(); ++i) symbols[i] = bytes_[static_cast<uint8_t>(word[i])];
    merge_symbols(merges_, symbols);
    append(symbols, out);
  }

  /// The token whose bytes are exactly `word`, if there is one.
  [[nodiscard]] std::optional<Token> whole_word(std::string_view word) const {
    if (word.size() > TokenTable::kMaxTokenBytes) return std::nullopt;
    std::string spelling;
    for (const char c : word) utf8_append(byte_to_letter(static_cast<uint8_t>(c)), spelling);
    const auto token = table().find(spelling);
    return token && table().type(*token) == TokenType::Normal ? token : std::nullopt;
  }

  /// A byte that the vocabulary cannot spell becomes the unknown token where there is one and else
  /// nothing, as in the tokenizers that the vocabularies come from.
  void append(const std::vector<Symbol>& symbols, std::vector<Token>& out) const {
    for (const Symbol symbol : symbols) {
      if (symbol >= 0) {
        out.push_back(symbol);
      } else if (table().unknown && table().type(*table().unknown) == TokenType::Unknown) {
        out.push_back(*table().unknown);
      }
    }
  }

  const PreTokenizer& pre_tokenizer_;
  std::array<Symbol, 256> bytes_;
  MergeTable merges_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_bpe_tokenizer(Vocabulary vocabulary) {
  const PreTokenizer& pre_tokenizer = pre_tokenizer_of(vocabulary.pre);
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::ByteLevel;
  defaults.add_bos = pre_tokenizer.add_bos;
  const std::vector<std::string> merges = std::move(vocabulary.merges);
  return std::make_unique<BpeTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), pre_tokenizer, merges);
}

}  // namespace tenon
