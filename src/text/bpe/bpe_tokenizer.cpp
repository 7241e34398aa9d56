#include "text/bpe/bpe_tokenizer.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/error.h"
#include "text/bpe/bpe_merges.h"
#include "text/bpe/byte_alphabet.h"
#include "text/bpe/char_bpe_tokenizer.h"
#include "text/bpe/chunked_merge.h"
#include "text/bpe/pre_tokenizer.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/dna_kmers.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_boundaries.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

/// Symbol of each byte: its token, or ~byte. Published vocabularies lack bytes absent from their
/// training text (falcon has no U+0003, starcoder no 0xF1), but never all.
std::array<Symbol, 256> byte_symbols(const TokenTable& table) {
  std::array<Symbol, 256> symbols{};
  bool any = false;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    utf8_append(byte_to_letter(static_cast<uint8_t>(byte)), letter);
    const auto token = table.find(letter);
    // Deepseek's user-defined tokens such as U+00F6 are letters of text, not bytes.
    const bool usable = token && table.type(*token) == TokenType::Normal;
    symbols[static_cast<size_t>(byte)] = usable ? *token : ~byte;
    any = any || usable;
  }
  if (!any) fail(Code::Format, "tokenizer.ggml.tokens: there is no token for any single byte");
  return symbols;
}

class BpeTokenizer final : public Tokenizer {
 public:
  BpeTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system,
               const PreTokenizer& pre_tokenizer, const std::vector<std::string>& merges,
               bool has_dna)
      : Tokenizer(std::move(token_table), std::move(system)),
        pre_tokenizer_(pre_tokenizer),
        patterns_(compile_patterns(pre_tokenizer.patterns)),
        bytes_(byte_symbols(table())),
        merges_(read_merges(table(), merges)),
        dna_(has_dna ? DnaKmers(table()) : DnaKmers()) {
    for (Token token = 0; table().contains(token); ++token) boundaries_.add(table().piece(token));
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    dna_.encode(text, out, [&](std::string_view part) { encode_plain(part, out); });
  }

  void encode_plain(std::string_view text, std::vector<Token>& out) const {
    struct Words {
      const BpeTokenizer& tokenizer;
      CachedWords known;
      std::vector<Token>& out;
      std::vector<Symbol> symbols = {};

      void operator()(std::string_view word) {
        if (recall(0, word)) return;
        for (size_t begin = 0; begin < word.size();) {
          const size_t end = tokenizer.boundaries_.next(word, begin);
          const std::string_view part = word.substr(begin, end - begin);
          begin = end;
          if (part.size() < word.size() && recall(0, part)) continue;
          const size_t before = mark();
          tokenizer.encode_word(part, known.begin_of(part), symbols, known.buffer(), out);
          remember(0, part, before);
        }
      }
      bool recall(size_t level, std::string_view piece) {
        return known.recall(piece, known.begin_of(piece), level);
      }
      [[nodiscard]] size_t mark() const { return out.size(); }
      void remember(size_t level, std::string_view piece, size_t before) {
        known.remember(piece, before, level);
      }
    } words{*this, CachedWords(system(), caches_, text, out), out};
    Splitter(patterns_).split(text, words);
  }

  /// begin: offset of the word in the text. `symbols` is scratch, reused between words.
  void encode_word(std::string_view word, size_t begin, std::vector<Symbol>& symbols,
                   TokenBuffer& buffer, std::vector<Token>& out) const {
    if (pre_tokenizer_.whole_words) {
      if (const auto token = whole_word(word)) return out.push_back(*token);
    }
    struct Bytes {
      const std::array<Symbol, 256>& symbols;
      std::string_view word;
      size_t at = 0;
      bool next(std::vector<Symbol>& into, size_t count) {
        const size_t before = into.size();
        count = std::min(count, word.size() - at);
        into.resize(before + count);
        for (size_t i = 0; i < count; ++i) {
          into[before + i] = symbols[static_cast<uint8_t>(word[at + i])];
        }
        at += count;
        return at < word.size();
      }
      void rewind() { at = 0; }
    } source{bytes_, word};
    merge_word(merges_, source, word.size(), symbols, out, [&](std::span<const Symbol> merged) {
      buffer.reserve(merged.size(), begin + source.at);
      append(merged, out);
    });
  }

  /// The token whose bytes equal `word`, if any.
  [[nodiscard]] std::optional<Token> whole_word(std::string_view word) const {
    if (word.size() > TokenTable::kMaxTokenBytes) return std::nullopt;
    std::string spelling;
    for (const char c : word) utf8_append(byte_to_letter(static_cast<uint8_t>(c)), spelling);
    const auto token = table().find(spelling);
    return token && table().type(*token) == TokenType::Normal ? token : std::nullopt;
  }

  /// Appends tokens. Bytes without a token become the unknown token, if there is one, else nothing,
  /// as in the vocabularies' own tokenizers.
  void append(std::span<const Symbol> symbols, std::vector<Token>& out) const {
    for (const Symbol symbol : symbols) {
      if (symbol >= 0) {
        out.push_back(symbol);
      } else if (table().unknown && table().type(*table().unknown) == TokenType::Unknown) {
        out.push_back(*table().unknown);
      }
    }
  }

  const PreTokenizer& pre_tokenizer_;
  SplitPatterns patterns_;
  std::array<Symbol, 256> bytes_;
  MergeTable merges_;
  DnaKmers dna_;
  WordBoundaries boundaries_{" "};  // for patterns that leave spaces inside words
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_bpe_tokenizer(Vocabulary vocabulary,
                                                    std::shared_ptr<System> system) {
  const PreTokenizer& pre_tokenizer = pre_tokenizer_of(vocabulary.pre);
  if (pre_tokenizer.characters) {
    return make_char_bpe_tokenizer(std::move(vocabulary), std::move(system), pre_tokenizer);
  }
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::ByteLevel;
  defaults.add_bos = pre_tokenizer.add_bos;
  const bool has_dna = vocabulary.model == "hybriddna";
  const std::vector<std::string> merges = std::move(vocabulary.merges);
  auto table = std::make_unique<TokenTable>(std::move(vocabulary), defaults);
  return std::make_unique<BpeTokenizer>(std::move(table), std::move(system), pre_tokenizer, merges,
                                        has_dna);
}

}  // namespace tenon
