#include "text/bpe/char_bpe_tokenizer.h"

#include <array>
#include <string>

#include "base/huge_pages.h"
#include "text/bpe/bpe_merges.h"
#include "text/bpe/char_words.h"
#include "text/tokenizer/token_table.h"
#include "text/unicode/char_properties.h"
#include "text/unicode/unicode_forms.h"
#include "text/unicode/utf8_codec.h"

namespace tenon {
namespace {

class CharBpeTokenizer final : public Tokenizer {
 public:
  CharBpeTokenizer(std::unique_ptr<const TokenTable> token_table, std::shared_ptr<System> system,
                   const PreTokenizer& pre_tokenizer, const std::vector<std::string>& merges,
                   bool lowercase)
      : Tokenizer(std::move(token_table), std::move(system)),
        patterns_(compile_patterns(pre_tokenizer.patterns)),
        drops_spaces_(pre_tokenizer.drops_spaces),
        lowercase_(lowercase),
        merges_(read_merges(table(), merges)),
        bytes_(byte_tokens(table())) {
    for (Token token = 0; table().contains(token); ++token) {
      const std::string_view text = table().spelling(token);
      boundaries_.add(text);
      if (table().type(token) != TokenType::Normal || text.empty()) continue;
      if (table().is_twin(token)) continue;
      if (utf8_valid_prefix(text) != text.size()) continue;
      const CodePoint first = utf8_decode_valid(text.data());
      if (first.size == text.size()) characters_.set(first.code, token);
    }
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    std::string lowered;
    if (lowercase_) {
      lowered = lowercase_of(system(), text);
      text = lowered;
    }
    const CharMerging merging{characters_, merges_, bytes_};
    CachedWords known(system(), caches_, text, out);
    CharWords words(merging, boundaries_, known);
    Splitter(patterns_).split(text, [&](std::string_view word) {
      if (drops_spaces_ && spaces_.contains(utf8_decode_valid(word.data()).code)) return;
      // A run of line breaks is one token if its length has one: merges do not lead to it.
      if (word[0] == '\n' && word.size() <= TokenTable::kMaxTokenBytes) {
        const auto token = table().find(word);
        if (token && !table().is_structure(*token)) return out.push_back(*token);
      }
      words.append(word, false);
    });
  }

  static std::string lowercase_of(System& system, std::string_view text) {
    std::string out = string_with_room(system, text.size());
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode_valid(text.data() + at);
      at += c.size;
      append_lowercase(c.code, out);
    }
    return out;
  }

  SplitPatterns patterns_;
  bool drops_spaces_;
  bool lowercase_;
  CharSet spaces_ = space_set();
  MergeTable merges_;
  CharSymbols characters_;
  std::array<Token, 256> bytes_;
  WordBoundaries boundaries_{" "};
  mutable WordCachePool caches_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_char_bpe_tokenizer(Vocabulary vocabulary,
                                                         std::shared_ptr<System> system,
                                                         const PreTokenizer& pre_tokenizer) {
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Characters;
  defaults.add_bos = pre_tokenizer.add_bos;
  // Published files of Gemma 4 say not to add it; the published tokenizer adds it.
  if (pre_tokenizer.add_bos && vocabulary.bos) vocabulary.add_bos = true;
  const bool lowercase = vocabulary.lowercase.value_or(false);
  const std::vector<std::string> merges = std::move(vocabulary.merges);
  return std::make_unique<CharBpeTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), std::move(system),
      pre_tokenizer, merges, lowercase);
}

}  // namespace tenon
