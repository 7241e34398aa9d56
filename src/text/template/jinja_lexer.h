// Splits template source into tokens, with white-space control; the parser interprets them.
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

/// Most tokens of a template. Each token makes at most one node of the syntax tree, so this bounds
/// the tree: with the source, less than 16 MB and 100 ms.
inline constexpr size_t kMaxTokens = size_t{1} << 15;

/// Splits a template with trim_blocks and lstrip_blocks, without keep_trailing_newline, as set by
/// Hugging Face. Throws Template naming the line.
std::vector<Token> lex(std::string_view source);

}  // namespace tenon::jinja
