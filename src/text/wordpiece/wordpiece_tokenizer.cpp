#include "text/wordpiece/wordpiece_tokenizer.h"

#include <string>

#include "base/error.h"
#include "text/tokenizer/byte_trie.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/utf8_codec.h"
#include "text/wordpiece/bert_words.h"

namespace tenon {
namespace {

// Longest word, as in the published tokenizers; longer words are unknown. Bounds the time per word.
constexpr size_t kMaxWordChars = 100;

/// Files spell pieces at the start of a word with U+2581 and others bare: "▁token", "ize".
class WordPieceTokenizer final : public Tokenizer {
 public:
  WordPieceTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system,
                     BertOptions options)
      : Tokenizer(std::move(token_table), std::move(system)), options_(options) {
    ByteTrie::Builder pieces;
    for (Token token = 0; table().contains(token); ++token) {
      const std::string_view text = table().spelling(token);
      if (table().is_reserved(token) || table().is_twin(token) || text.empty()) continue;
      pieces.insert(text, token);
    }
    pieces_ = pieces.build();
    if (!table().unknown) {
      fail(Code::Format, "tokenizer.ggml.unknown_token_id: missing, and WordPiece needs it");
    }
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    const std::string normalized = bert_normalized(system(), text, options_);
    CachedWords words(system(), caches_, normalized, out);
    split_bert_words(normalized, [&](std::string_view word) {
      words.append(word, [&] {
        const size_t before = out.size();
        if (encode_word(word, out)) return;
        out.resize(before);
        out.push_back(*table().unknown);
      });
    });
  }

  /// Takes the longest piece each time; false if none fits.
  bool encode_word(std::string_view word, std::vector<Token>& out) const {
    size_t chars = 0;
    for (const char c : word) chars += utf8_continues(c) ? 0 : 1;
    if (chars > kMaxWordChars) return false;
    std::string marked(kSpaceMark);
    marked += word;
    for (size_t at = 0; at < marked.size();) {
      Token best = ByteTrie::kNoValue;
      size_t best_end = at;
      uint32_t node = ByteTrie::kRoot;
      for (size_t end = at; end < marked.size();) {
        node = pieces_.child(node, static_cast<uint8_t>(marked[end++]));
        if (node == ByteTrie::kNone) break;
        if (pieces_.value(node) == ByteTrie::kNoValue) continue;
        // The mark alone is no piece of a word.
        if (at == 0 && end == kSpaceMark.size()) continue;
        best = pieces_.value(node);
        best_end = end;
      }
      if (best == ByteTrie::kNoValue) return false;
      out.push_back(best);
      at = best_end;
    }
    return true;
  }

  BertOptions options_;
  ByteTrie pieces_;
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_wordpiece_tokenizer(Vocabulary vocabulary,
                                                          std::shared_ptr<System> system) {
  BertOptions options;
  options.lowercase = vocabulary.lowercase.value_or(true);
  options.strip_accents = vocabulary.strip_accents.value_or(options.lowercase);
  // The separator ends a text like [CLS] begins it.
  if (!vocabulary.eos) vocabulary.eos = vocabulary.separator;
  if (!vocabulary.add_eos) vocabulary.add_eos = vocabulary.add_sep;
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::WordPiece;
  defaults.add_bos = true;
  defaults.add_eos = true;
  defaults.add_space_prefix = true;
  // Token ids of the first published vocabularies.
  defaults.unknown = 100;
  defaults.bos = 101;
  defaults.eos = 102;
  return std::make_unique<WordPieceTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), std::move(system), options);
}

}  // namespace tenon
