#include "text/char_bpe_tokenizer.h"

#include <array>
#include <string>

#include "text/char_source.h"
#include "text/merge_list.h"
#include "text/token_room.h"
#include "text/token_table.h"
#include "text/utf8_codec.h"

namespace tenon {
namespace {

class CharBpeTokenizer final : public Tokenizer {
 public:
  CharBpeTokenizer(std::unique_ptr<const TokenTable> token_table, const PreTokenizer& pre_tokenizer,
                   const std::vector<std::string>& merges)
      : Tokenizer(std::move(token_table)),
        patterns_(compile_patterns(pre_tokenizer.patterns)),
        merges_(read_merges(table(), merges)),
        bytes_(byte_tokens(table())) {
    for (Token token = 0; table().contains(token); ++token) {
      const std::string& text = table().spelling(token);
      if (table().type(token) != TokenType::Normal || text.empty()) continue;
      if (utf8_valid_prefix(text) != text.size()) continue;
      const CodePoint first = utf8_decode_valid(text.data());
      if (first.size == text.size()) characters_.set(first.code, token);
    }
  }

 private:
  void encode_text(std::string_view text, Place, std::vector<Token>& out) const override {
    std::vector<Symbol> symbols;
    TokenRoom room(out, text.size());
    Splitter splitter(patterns_);
    splitter.split(text, [&](std::string_view word) {
      // A run of line breaks is one token where there is one for its length: merges do not lead
      // there.
      if (word[0] == '\n' && word.size() <= TokenTable::kMaxTokenBytes) {
        const auto token = table().find(word);
        if (token && !table().is_structure(*token)) return out.push_back(*token);
      }
      append_merged_characters({characters_, merges_, bytes_}, word, false,
                               static_cast<size_t>(word.data() - text.data()), symbols, room, out);
    });
  }

  SplitPatterns patterns_;
  MergeTable merges_;
  CharSymbols characters_;
  std::array<Token, 256> bytes_;
};

}  // namespace

std::unique_ptr<const Tokenizer> make_char_bpe_tokenizer(Vocabulary vocabulary,
                                                         const PreTokenizer& pre_tokenizer) {
  TokenizerDefaults defaults;
  defaults.kind = TokenizerKind::Characters;
  defaults.add_bos = pre_tokenizer.add_bos;
  const std::vector<std::string> merges = std::move(vocabulary.merges);
  return std::make_unique<CharBpeTokenizer>(
      std::make_unique<TokenTable>(std::move(vocabulary), defaults), pre_tokenizer, merges);
}

}  // namespace tenon
