#include "text/spm_tokenizer.h"

#include <array>
#include <string>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/merger.h"
#include "text/spm_merges.h"
#include "text/token_table.h"
#include "text/utf8.h"

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
  void encode_text(std::string_view text, bool at_start, std::vector<Token>& out) const override {
    std::vector<Symbol> word;
    if (at_start && table().add_space_prefix) word.push_back(mark_);
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = utf8_decode_valid(text.data() + at);
      at += c.size;
      const Symbol symbol = c.code == ' ' ? mark_ : merges_.characters.of(c.code);
      const bool starts_word = symbol == mark_ && !word.empty() && word.back() != mark_;
      if (starts_word && merges_.words_are_separate) {
        merge_and_append(word, out);
        word.clear();
      }
      word.push_back(symbol);
    }
    merge_and_append(word, out);
  }

  void merge_and_append(std::vector<Symbol>& word, std::vector<Token>& out) const {
    merge_symbols(merges_.table, word);
    std::string spelled;
    for (const Symbol symbol : word) {
      if (symbol >= 0) {
        out.push_back(symbol);
        continue;
      }
      spelled.clear();
      utf8_append(static_cast<uint32_t>(~symbol), spelled);
      for (const char byte : spelled) out.push_back(bytes_[static_cast<uint8_t>(byte)]);
    }
  }

  std::array<Token, 256> bytes_;
  SpmMerges merges_;
  Symbol mark_;  // what a space becomes
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
