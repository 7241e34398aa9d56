#include "text/unigram/unigram_tokenizer.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer/cached_words.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_boundaries.h"
#include "text/unigram/sentencepiece_normalizer.h"
#include "text/unigram/unigram_model.h"

namespace tenon {
namespace {

class UnigramTokenizer final : public Tokenizer {
 public:
  UnigramTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system,
                   SentencePieceNormalizer normalizer)
      : Tokenizer(std::move(token_table), std::move(system)), normalizer_(std::move(normalizer)) {
    bool knows_mark = false;
    double least = std::numeric_limits<double>::max();
    for (Token token = 0; table().contains(token); ++token) {
      const std::string_view text = table().spelling(token);
      const TokenType type = table().type(token);
      const bool is_byte = type == TokenType::Byte && !table().is_twin(token);
      if (is_byte) model_.set_byte(*parse_byte_token(text), token);
      if (type == TokenType::Normal) least = std::min(least, double{table().score(token)});
      const bool in_text =
          type == TokenType::Normal || type == TokenType::UserDefined || type == TokenType::Unused;
      if (!in_text || text.empty() || table().is_reserved(token)) continue;
      if (table().is_twin(token)) continue;
      knows_mark = knows_mark || (text == kSpaceMark && token != table().unknown);
      boundaries_.add(text);
      model_.add_piece(text, token, type == TokenType::UserDefined ? 0.0 : table().score(token));
    }
    model_.finish();
    has_boundaries_ = knows_mark;
    model_.set_unknown(UnigramModel::unknown_score_below(least), table().unknown);
    if (!model_.is_complete()) {
      fail(Code::Format, "tokenizer.ggml.unknown_token_id: missing, and there are no byte tokens");
    }
  }

 private:
  void encode_text(std::string_view text, Place place, std::vector<Token>& out) const override {
    const std::string normalized = normalizer_.normalize(system(), text, place.at_start);
    CachedWords words(system(), caches_, normalized, out);
    if (!has_boundaries_) return model_.append_best_path(normalized, 0, words.buffer());
    for (size_t begin = 0; begin < normalized.size();) {
      const size_t end = boundaries_.next(normalized, begin);
      const std::string_view word = std::string_view(normalized).substr(begin, end - begin);
      words.append(word, [&] { model_.append_best_path(word, begin, words.buffer()); });
      begin = end;
    }
  }

  SentencePieceNormalizer normalizer_;
  UnigramModel model_;
  WordBoundaries boundaries_{kSpaceMark};
  /// The starts of words are known, so no run of unknown characters crosses a cut. The best
  /// segmentation of a text is then that of its words.
  bool has_boundaries_ = false;
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_unigram_tokenizer(Vocabulary vocabulary,
                                                        std::shared_ptr<System> system) {
  SentencePieceNormalizer::Options options;
  options.add_prefix = vocabulary.add_space_prefix.value_or(true);
  options.remove_extra_spaces = vocabulary.remove_extra_spaces.value_or(false);
  options.escape_spaces = vocabulary.escape_spaces.value_or(true);
  options.space_as_suffix = vocabulary.space_as_suffix.value_or(false);
  SentencePieceNormalizer normalizer(
      CharsMap(vocabulary.charsmap, "tokenizer.ggml.precompiled_charsmap"), options);
  // Defaults of T5.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Unigram;
  defaults.add_eos = true;
  defaults.add_space_prefix = true;
  defaults.eos = 1;
  defaults.unknown = 2;
  auto table = std::make_unique<TokenTable>(std::move(vocabulary), defaults);
  return std::make_unique<UnigramTokenizer>(std::move(table), std::move(system),
                                            std::move(normalizer));
}

}  // namespace tenon
