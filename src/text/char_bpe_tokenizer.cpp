#include "text/char_bpe_tokenizer.h"

#include <array>
#include <span>
#include <string>

#include "text/byte_alphabet.h"
#include "text/char_symbols.h"
#include "text/merge_list.h"
#include "text/piece_merge.h"
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
        merges_(read_merges(table(), merges)) {
    bytes_.fill(-1);
    for (Token token = 0; table().contains(token); ++token) {
      const std::string& text = table().spelling(token);
      if (table().type(token) == TokenType::Byte) bytes_[*parse_byte_token(text)] = token;
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
      encode_word(word, static_cast<size_t>(word.data() - text.data()), symbols, room, out);
    });
  }

  /// begin: of the word in the text. `symbols` is scratch.
  void encode_word(std::string_view word, size_t begin, std::vector<Symbol>& symbols,
                   TokenRoom& room, std::vector<Token>& out) const {
    struct Characters {
      const CharSymbols& symbols;
      std::string_view word;
      size_t at = 0;
      bool next(std::vector<Symbol>& into, size_t count) {
        for (; count > 0 && at < word.size(); --count) {
          const CodePoint c = utf8_decode_valid(word.data() + at);
          at += c.size;
          into.push_back(symbols.of(c.code == ' ' ? kSpaceMarkCode : c.code));
        }
        return at < word.size();
      }
      void rewind() { at = 0; }
    } source{characters_, word};
    std::string spelled;
    merge_word(merges_, source, word.size(), symbols, out, [&](std::span<const Symbol> merged) {
      room.need(merged.size(), begin + source.at);
      for (const Symbol symbol : merged) append(symbol, spelled, out);
    });
  }

  void append(Symbol symbol, std::string& spelled, std::vector<Token>& out) const {
    if (symbol >= 0) return out.push_back(symbol);
    spelled.clear();
    utf8_append(static_cast<uint32_t>(~symbol), spelled);
    for (const char c : spelled) {
      const Token byte = bytes_[static_cast<uint8_t>(c)];
      if (byte >= 0) out.push_back(byte);
    }
  }

  SplitPatterns patterns_;
  MergeTable merges_;
  CharSymbols characters_;
  std::array<Token, 256> bytes_{};
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
