#include "text/unigram/plamo2_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/huge_pages.h"
#include "text/bpe/char_source.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_boundaries.h"
#include "text/unicode/utf8_codec.h"
#include "text/unigram/unigram_model.h"

namespace tenon {
namespace {

// Scores are multiples of 1e-4. kUnknownScore is that of a character without a token; tokens below
// kInvalidScore are ignored (UNKNOWN_SCORE and INVALID_SCORE of the published tokenizer).
constexpr double kScoreUnits = 1e4;
constexpr double kUnknownScore = -1e7;
constexpr double kInvalidScore = -2e7;

/// Reverses the characters of `text`, well-formed UTF-8.
std::string reversed_characters(System& system, std::string_view text) {
  std::string out = string_with_room(system, text.size());
  for (size_t end = text.size(); end > 0;) {
    size_t at = end - 1;
    while (utf8_continues(text[at])) --at;
    out.append(text, at, end - at);
    end = at;
  }
  return out;
}

/// Unigram from the end of the text: at each position the best continuation is known, and ties go
/// to the longest token. So texts and tokens enter a UnigramModel reversed.
class Plamo2Tokenizer final : public Tokenizer {
 public:
  Plamo2Tokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system)
      : Tokenizer(std::move(token_table), std::move(system)) {
    const std::array<Token, 256> bytes = complete_byte_tokens(table());
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      model_.set_byte(static_cast<uint8_t>(byte), bytes[byte]);
    }
    for (Token token = 0; table().contains(token); ++token) {
      const std::string_view text = table().spelling(token);
      const bool in_text =
          table().type(token) == TokenType::Normal || table().type(token) == TokenType::UserDefined;
      if (!in_text || text.empty() || table().is_reserved(token)) continue;
      if (table().is_twin(token)) continue;
      const double score = std::round(double{table().score(token)} * kScoreUnits);
      if (!std::isfinite(score) || score <= kInvalidScore) continue;
      if (utf8_valid_prefix(text) != text.size()) continue;
      model_.add_piece(reversed_characters(this->system(), text), token, score);
      boundaries_.add(text);
    }
    model_.set_unknown(kUnknownScore);
    model_.finish();
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    CachedWords words(system(), caches_, text, out);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = boundaries_.next(text, begin);
      const std::string_view word = text.substr(begin, end - begin);
      words.append(word, [&] { encode_word(word, begin, words.buffer()); });
      begin = end;
    }
  }

  /// begin: offset of the word in the buffer's text.
  void encode_word(std::string_view word, size_t begin, TokenBuffer& buffer) const {
    std::vector<Token>& out = buffer.tokens();
    const size_t before = out.size();
    model_.append_best_path(reversed_characters(system(), word), begin, buffer);
    std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
    // Restore the order of bytes within each character.
    for (size_t first = before, i = before; i < out.size(); ++i) {
      const bool is_byte = table().type(out[i]) == TokenType::Byte;
      const bool is_inside = is_byte && utf8_continues(table().piece(out[i])[0]);
      if (is_inside) continue;
      if (is_byte) {
        std::reverse(out.begin() + static_cast<ptrdiff_t>(first),
                     out.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
      first = i + 1;
    }
  }

  UnigramModel model_;
  WordBoundaries boundaries_{" "};
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_plamo2_tokenizer(Vocabulary vocabulary,
                                                       std::shared_ptr<System> system) {
  // Values of the published tokenizer.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Plain;
  defaults.unknown = 0;
  defaults.bos = 1;
  defaults.eos = 2;
  return std::make_unique<Plamo2Tokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), std::move(system));
}

}  // namespace tenon
