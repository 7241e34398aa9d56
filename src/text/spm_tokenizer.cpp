#include "text/spm_tokenizer.h"

#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/piece_merge.h"
#include "text/spm_merges.h"
#include "text/token_room.h"
#include "text/token_table.h"
#include "text/utf8_codec.h"
#include "text/word_cache.h"

namespace tenon {
namespace {

/// The token of each byte. Text that the vocabulary has no piece for is spelled with these, so all
/// must be there, each once.
std::array<Token, 256> byte_tokens(const TokenTable& table) {
  std::array<Token, 256> tokens;
  tokens.fill(-1);
  for (Token token = 0; table.contains(token); ++token) {
    if (table.type(token) != TokenType::Byte) continue;
    Token& place = tokens[*parse_byte_token(table.spelling(token))];
    if (place >= 0) {
      fail(Code::Format, "tokenizer.ggml.tokens: byte tokens {} and {} are both {}", place, token,
           table.spelling(token));
    }
    place = token;
  }
  for (size_t byte = 0; byte < tokens.size(); ++byte) {
    if (tokens[byte] < 0) {
      fail(Code::Format, "tokenizer.ggml.tokens: byte token <0x{:02X}> is missing", byte);
    }
  }
  return tokens;
}

class SpmTokenizer final : public Tokenizer {
 public:
  explicit SpmTokenizer(std::unique_ptr<const TokenTable> token_table)
      : Tokenizer(std::move(token_table)),
        bytes_(byte_tokens(table())),
        merges_(make_spm_merges(table())),
        mark_(merges_.characters.of(kSpaceMarkCode)) {}

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
      encode_word(word, word_begin, prefix, symbols, room, out);
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

  /// begin: of the word in the text. prefix: a space stands before it. `symbols` is scratch.
  void encode_word(std::string_view word, size_t begin, bool prefix, std::vector<Symbol>& symbols,
                   TokenRoom& room, std::vector<Token>& out) const {
    struct Characters {
      const CharSymbols& symbols;
      Symbol mark;
      bool prefix;
      std::string_view word;
      size_t at = 0;
      bool next(std::vector<Symbol>& into, size_t count) {
        if (at == 0 && prefix) into.push_back(mark);
        for (; count > 0 && at < word.size(); --count) {
          const CodePoint c = utf8_decode_valid(word.data() + at);
          at += c.size;
          into.push_back(c.code == ' ' ? mark : symbols.of(c.code));
        }
        return at < word.size();
      }
      void rewind() { at = 0; }
    } source{merges_.characters, mark_, prefix, word};
    std::string spelled;
    merge_word(merges_.table, source, word.size(), symbols, out,
               [&](std::span<const Symbol> merged) {
                 room.need(merged.size(), begin + source.at);
                 for (const Symbol symbol : merged) append(symbol, spelled, out);
               });
  }

  void append(Symbol symbol, std::string& spelled, std::vector<Token>& out) const {
    if (symbol >= 0) return out.push_back(symbol);
    spelled.clear();
    utf8_append(static_cast<uint32_t>(~symbol), spelled);
    for (const char byte : spelled) out.push_back(bytes_[static_cast<uint8_t>(byte)]);
  }

  std::array<Token, 256> bytes_;
  SpmMerges merges_;
  Symbol mark_;  // what a space becomes
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
