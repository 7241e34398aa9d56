#include "text/spm_tokenizer.h"

#include <array>
#include <span>
#include <utility>

#include "text/char_source.h"
#include "text/spm_merges.h"
#include "text/token_room.h"
#include "text/token_table.h"
#include "text/word_cache.h"

namespace tenon {
namespace {

class SpmTokenizer final : public Tokenizer {
 public:
  explicit SpmTokenizer(std::unique_ptr<const TokenTable> token_table)
      : Tokenizer(std::move(token_table)),
        bytes_(complete_byte_tokens(table())),
        merges_(make_spm_merges(table())) {}

 private:
  void encode_text(std::string_view text, Place place, std::vector<Token>& out) const override {
    WordCachePool::Loan cache(caches_);
    std::vector<Symbol> symbols;
    TokenRoom room(out, text.size());
    bool prefix = place.at_start && table().add_space_prefix;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = merges_.words_are_separate ? word_end(text, begin) : text.size();
      const std::string_view word = text.substr(begin, end - begin);
      room.need(kWordRoom, begin);
      const size_t word_begin = std::exchange(begin, end);
      if (!prefix && cache->append(word, out)) continue;
      const size_t before = out.size();
      append_merged_characters({merges_.characters, merges_.table, bytes_}, word, prefix,
                               word_begin, symbols, room, out);
      if (!prefix) cache->insert(word, std::span(out).subspan(before));
      prefix = false;
    }
  }

  /// The end of the word that starts at `begin`: before the next space that follows neither a space
  /// nor a space mark. Where words are separate, no merge reaches across it.
  static size_t word_end(std::string_view text, size_t begin) {
    for (size_t at = text.find(' ', begin + 1); at < text.size(); at = text.find(' ', at + 1)) {
      if (text[at - 1] != ' ' && !text.substr(0, at).ends_with(kSpaceMark)) return at;
    }
    return text.size();
  }

  static constexpr size_t kWordRoom = 16;  // tokens of a word that is not long

  std::array<Token, 256> bytes_;
  SpmMerges merges_;
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_spm_tokenizer(Vocabulary vocabulary) {
  // The values that SentencePiece gives its own tokens unless told otherwise.
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::SentencePiece;
  defaults.add_bos = true;
  defaults.add_space_prefix = true;
  defaults.unknown = 0;
  defaults.bos = 1;
  defaults.eos = 2;
  return std::make_unique<SpmTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults));
}

}  // namespace tenon
