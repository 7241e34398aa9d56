#include "text/unigram_tokenizer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/byte_trie.h"
#include "text/sentencepiece_normalizer.h"
#include "text/token_table.h"
#include "text/utf8_codec.h"

namespace tenon {
namespace {

// What a character that no piece covers costs beyond the least likely piece (SentencePiece's
// kUnkPenalty).
constexpr double kUnknownPenalty = 10.0;
constexpr Token kUnknownMark = -1;

class UnigramTokenizer final : public Tokenizer {
 public:
  UnigramTokenizer(std::unique_ptr<const TokenTable> token_table,
                   SentencePieceNormalizer normalizer)
      : Tokenizer(std::move(token_table)), normalizer_(std::move(normalizer)) {
    double least = std::numeric_limits<double>::max();
    bytes_.fill(kUnknownMark);
    size_t num_bytes = 0;
    for (Token token = 0; table().contains(token); ++token) {
      const std::string& text = table().spelling(token);
      if (table().type(token) == TokenType::Byte) {
        Token& place = bytes_[*parse_byte_token(text)];
        num_bytes += place == kUnknownMark ? 1 : 0;
        place = token;
      }
      if (table().type(token) == TokenType::Normal) {
        least = std::min(least, double{table().score(token)});
      }
      const bool in_text = table().type(token) == TokenType::Normal ||
                           table().type(token) == TokenType::UserDefined ||
                           table().type(token) == TokenType::Unused;
      if (!in_text || text.empty()) continue;
      pieces_.insert(text, token);
      longest_ = std::max(longest_, text.size());
    }
    unknown_score_ = least - kUnknownPenalty;
    falls_back_to_bytes_ = num_bytes == bytes_.size();
    if (!falls_back_to_bytes_ && !table().unknown) {
      fail(Code::Format, "tokenizer.ggml.unknown_token_id: missing, and there are no byte tokens");
    }
  }

 private:
  void encode_text(std::string_view text, bool at_start, std::vector<Token>& out) const override {
    const std::string normalized = normalizer_.normalize(text, at_start);
    append_best_path(normalized, out);
  }

  [[nodiscard]] double score_of(Token token) const {
    return table().type(token) == TokenType::UserDefined ? 0.0 : table().score(token);
  }

  /// Viterbi over the pieces: the cut of the text whose scores sum highest. Scores are kept for as
  /// many positions as a piece is long, the choice at each position in one token.
  void append_best_path(std::string_view text, std::vector<Token>& out) const {
    constexpr double kUnreached = -std::numeric_limits<double>::infinity();
    const size_t ring = longest_ + 5;  // a character of four bytes may be unknown
    std::vector<double> scores(ring, kUnreached);
    std::vector<Token> last(text.size() + 1, kUnknownMark);  // the piece that ends there
    scores[0] = 0.0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t char_end = begin + utf8_decode_valid(text.data() + begin).size;
      const double score = scores[begin % ring];
      bool covered = false;
      uint32_t node = ByteTrie::kRoot;
      for (size_t end = begin; end < text.size();) {
        node = pieces_.child(node, static_cast<uint8_t>(text[end++]));
        if (node == ByteTrie::kNone) break;
        const Token token = pieces_.value(node);
        if (token == ByteTrie::kNoValue) continue;
        covered = covered || end == char_end;
        const double challenge = score + score_of(token);
        if (challenge > scores[end % ring]) {
          scores[end % ring] = challenge;
          last[end] = token;
        }
      }
      if (!covered && score + unknown_score_ > scores[char_end % ring]) {
        scores[char_end % ring] = score + unknown_score_;
        last[char_end] = kUnknownMark;
      }
      for (; begin < char_end; ++begin) scores[begin % ring] = kUnreached;
    }
    append_backwards(text, last, out);
  }

  void append_backwards(std::string_view text, const std::vector<Token>& last,
                        std::vector<Token>& out) const {
    const size_t before = out.size();
    bool unknown_follows = false;
    for (size_t end = text.size(); end > 0;) {
      const Token token = last[end];
      if (token != kUnknownMark) {
        out.push_back(token);
        end -= table().spelling(token).size();
        unknown_follows = false;
        continue;
      }
      size_t begin = end - 1;
      while ((static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
      if (falls_back_to_bytes_) {
        for (size_t i = end; i > begin; --i) {
          out.push_back(bytes_[static_cast<uint8_t>(text[i - 1])]);
        }
      } else if (!unknown_follows) {  // a run of unknown characters is one token
        out.push_back(*table().unknown);
      }
      unknown_follows = true;
      end = begin;
    }
    std::reverse(out.begin() + static_cast<ptrdiff_t>(before), out.end());
  }

  SentencePieceNormalizer normalizer_;
  ByteTrie pieces_;
  size_t longest_ = 0;  // piece, in bytes
  double unknown_score_ = 0;
  std::array<Token, 256> bytes_{};
  bool falls_back_to_bytes_ = false;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_unigram_tokenizer(Vocabulary vocabulary) {
  SentencePieceNormalizer::Options options;
  options.add_prefix = vocabulary.add_space_prefix.value_or(true);
  options.remove_extra_spaces = vocabulary.remove_extra_spaces.value_or(false);
  options.escape_spaces = vocabulary.escape_spaces.value_or(true);
  options.space_as_suffix = vocabulary.space_as_suffix.value_or(false);
  SentencePieceNormalizer normalizer(
      CharsMap(vocabulary.charsmap, "tokenizer.ggml.precompiled_charsmap"), options);
  // The values of T5.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Unigram;
  defaults.add_eos = true;
  defaults.add_space_prefix = true;
  defaults.eos = 1;
  defaults.unknown = 2;
  auto table = std::make_unique<TokenTable>(std::move(vocabulary), defaults);
  return std::make_unique<UnigramTokenizer>(std::move(table), std::move(normalizer));
}

}  // namespace tenon
