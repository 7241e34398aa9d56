#include "text/bpe/char_source.h"

#include "base/error.h"
#include "text/bpe/byte_alphabet.h"

namespace tenon {

std::array<Token, 256> byte_tokens(const TokenTable& table) {
  std::array<Token, 256> tokens;
  tokens.fill(-1);
  for (Token token = 0; table.contains(token); ++token) {
    if (table.type(token) != TokenType::Byte || table.is_twin(token)) continue;
    Token& place = tokens[*parse_byte_token(table.spelling(token))];
    if (place >= 0) {
      fail(Code::Format, "tokenizer.ggml.tokens: byte tokens {} and {} are both {}", place, token,
           table.spelling(token));
    }
    place = token;
  }
  return tokens;
}

std::array<Token, 256> complete_byte_tokens(const TokenTable& table) {
  const std::array<Token, 256> tokens = byte_tokens(table);
  for (size_t byte = 0; byte < tokens.size(); ++byte) {
    if (tokens[byte] < 0) {
      fail(Code::Format, "tokenizer.ggml.tokens: byte token <0x{:02X}> is missing", byte);
    }
  }
  return tokens;
}

}  // namespace tenon
