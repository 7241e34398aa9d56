#include "text/plamo2_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "text/char_source.h"
#include "text/token_table.h"
#include "text/unigram_model.h"
#include "text/utf8_codec.h"

namespace tenon {
namespace {

// Scores are whole numbers of a ten-thousandth; a character without a token has this one, and
// tokens below the other are none (the published tokenizer's UNKNOWN_SCORE and INVALID_SCORE).
constexpr double kScoreUnits = 1e4;
constexpr double kUnknownScore = -1e7;
constexpr double kInvalidScore = -2e7;

/// The characters of `text`, well-formed UTF-8, from the last to the first.
std::string reversed_characters(std::string_view text) {
  std::string out(text.size(), '\0');
  for (size_t at = 0; at < text.size();) {
    const uint32_t size = utf8_decode_valid(text.data() + at).size;
    text.copy(out.data() + out.size() - at - size, size, at);
    at += size;
  }
  return out;
}

/// Unigram from the end of the text: at each place the best way behind it is known, and of equal
/// ones that with the longest token is taken. So texts and tokens go into a UnigramModel backwards.
class Plamo2Tokenizer final : public Tokenizer {
 public:
  explicit Plamo2Tokenizer(std::unique_ptr<const TokenTable> token_table)
      : Tokenizer(std::move(token_table)) {
    const std::array<Token, 256> bytes = complete_byte_tokens(table());
    for (size_t byte = 0; byte < bytes.size(); ++byte) {
      model_.set_byte(static_cast<uint8_t>(byte), bytes[byte]);
    }
    for (Token token = 0; table().contains(token); ++token) {
      const std::string& text = table().spelling(token);
      const bool in_text =
          table().type(token) == TokenType::Normal || table().type(token) == TokenType::UserDefined;
      if (!in_text || text.empty() || table().is_reserved(token)) continue;
      const double score = std::round(double{table().score(token)} * kScoreUnits);
      if (!std::isfinite(score) || score <= kInvalidScore) continue;
      if (utf8_valid_prefix(text) != text.size()) continue;
      model_.add_piece(reversed_characters(text), token, score);
    }
    model_.set_unknown(kUnknownScore);
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    const size_t before = out.size();
    model_.append_best_path(reversed_characters(text), out);
    std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
    // The bytes of a character have been reversed with it.
    for (size_t begin = before, i = before; i < out.size(); ++i) {
      const bool is_byte = table().type(out[i]) == TokenType::Byte;
      const bool is_inside = is_byte && (static_cast<uint8_t>(table().piece(out[i])[0]) & 0xC0) == 0x80;
      if (is_inside) continue;
      if (is_byte) {
        std::reverse(out.begin() + static_cast<ptrdiff_t>(begin),
                     out.begin() + static_cast<ptrdiff_t>(i) + 1);
      }
      begin = i + 1;
    }
  }

  UnigramModel model_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_plamo2_tokenizer(Vocabulary vocabulary) {
  // The values of the published tokenizer.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Plain;
  defaults.unknown = 0;
  defaults.bos = 1;
  defaults.eos = 2;
  return std::make_unique<Plamo2Tokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults));
}

}  // namespace tenon
