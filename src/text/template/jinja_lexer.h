// Template source to tokens, white-space control included; what tokens mean is the parser's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::jinja {

enum class TokenKind : uint8_t {
  Data,  ///< text between the tags
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  uint32_t line = 0;
  std::string text{};  ///< data, name, operator; a string with its escapes resolved; digits
};

/// The most tokens of a template. No token makes more than one node of the syntax tree, so this
/// bounds the tree, too: with the source, less than 16 MB and 100 ms.
inline constexpr size_t kMaxTokens = size_t{1} << 15;

/// The tokens of a template with trim_blocks, lstrip_blocks and without keep_trailing_newline, the
/// set-up of Hugging Face. Throws Error(Template) naming the line.
std::vector<Token> lex(std::string_view source);

}  // namespace tenon::jinja
