#include "text/bpe/spm_tokenizer.h"

#include <array>

#include "text/bpe/char_words.h"
#include "text/bpe/spm_merges.h"
#include "text/tokenizer/token_table.h"
#include "text/tokenizer/word_cache.h"

namespace tenon {
namespace {

class SpmTokenizer final : public Tokenizer {
 public:
  SpmTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system)
      : Tokenizer(std::move(token_table), std::move(system)),
        bytes_(complete_byte_tokens(table())),
        merges_(make_spm_merges(table())) {}

 private:
  void encode_text(std::string_view text, Place place, std::vector<Token>& out) const override {
    const CharMerging merging{merges_.characters, merges_.table, bytes_};
    CachedWords words(system(), caches_, text, out);
    CharWords(merging, merges_.boundaries, words)
        .append(text, place.at_start && table().add_space_prefix);
  }

  std::array<Token, 256> bytes_;
  SpmMerges merges_;
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_spm_tokenizer(Vocabulary vocabulary,
                                                    std::shared_ptr<System> system) {
  // SentencePiece's own defaults.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::SentencePiece;
  defaults.add_bos = true;
  defaults.add_space_prefix = true;
  defaults.unknown = 0;
  defaults.bos = 1;
  defaults.eos = 2;
  return std::make_unique<SpmTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), std::move(system));
}

}  // namespace tenon
