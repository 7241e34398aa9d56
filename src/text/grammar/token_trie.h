// Trie of a vocabulary's token texts, for walks that try many tokens at once.
//
//   a, ab, b: nodes a (depth 0, token a), b (depth 1, token ab), b (depth 0, token b)
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/byte_kinds.h"
#include "text/grammar/pushdown_machine.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon::grammar {

/// Tokens in the order of their texts; nodes in depth-first order.
class TokenTrie {
 public:
  struct Entry {
    std::string_view text;
    Token token;
  };
  TokenTrie() = default;
  /// Sorts the entries; the texts are not kept.
  explicit TokenTrie(std::vector<Entry> entries);

  struct Node {
    uint32_t end;     ///< first node after the subtree
    uint32_t tokens;  ///< first of its own tokens, which end where the next node's begin
    uint32_t depth;   ///< number of bytes before its own
    uint8_t byte;     ///< byte that leads to it
    uint8_t below;    ///< kinds of the bytes below it (byte_kind), one bit each
  };
  /// Tokens with an empty text.
  [[nodiscard]] std::span<const Token> at_root() const {
    return std::span(tokens_).first(root_tokens_);
  }
  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Token> tokens(size_t node) const {
    const uint32_t begin = nodes_[node].tokens;
    return std::span(tokens_).subspan(begin, first_token(node + 1) - begin);
  }
  /// Index of the first token at or below node `node`; the number of all tokens for the last node.
  [[nodiscard]] uint32_t first_token(size_t node) const {
    return node < nodes_.size() ? nodes_[node].tokens : static_cast<uint32_t>(tokens_.size());
  }
  /// All tokens at nodes first..last - 1.
  [[nodiscard]] std::span<const Token> tokens(size_t first, size_t last) const {
    const uint32_t begin = first_token(first);
    return std::span(tokens_).subspan(begin, first_token(last) - begin);
  }
  /// True if a token begins with this text and is longer.
  [[nodiscard]] bool goes_beyond(std::string_view text) const;
  [[nodiscard]] Token token(uint32_t number) const { return tokens_[number]; }
  [[nodiscard]] uint32_t longest() const { return longest_; }
  [[nodiscard]] size_t size_bytes() const {
    return nodes_.capacity() * sizeof(Node) + tokens_.capacity() * sizeof(Token);
  }

 private:
  std::vector<Node> nodes_;
  std::vector<Token> tokens_;
  uint32_t root_tokens_ = 0;
  uint32_t longest_ = 0;
};

/// Vocabulary data for masks. Immutable: share it between grammars.
class TokenSet {
 public:
  /// marks: of a grammar. With marks, every control token gets a byte as its text
  /// (control_bytes.h).
  explicit TokenSet(std::shared_ptr<const Tokenizer> tokenizer,
                    std::span<const std::string> marks = {});
  /// Makes a set from texts; tokens with an empty text are control tokens.
  TokenSet(std::span<const std::string_view> texts, std::span<const Token> end_tokens);

  [[nodiscard]] size_t size() const { return texts_.size(); }
  [[nodiscard]] std::string_view text(Token token) const {
    return texts_[static_cast<size_t>(token)];
  }
  [[nodiscard]] bool is_end(Token token) const;
  [[nodiscard]] std::span<const Token> end_tokens() const { return end_tokens_; }
  [[nodiscard]] const TokenTrie& all() const { return all_; }
  /// Tokens of more than kLong bytes, and of more than kMiddle up to kLong.
  [[nodiscard]] const TokenTrie& long_ones() const { return long_; }
  [[nodiscard]] const TokenTrie& middle_ones() const { return middle_; }
  static constexpr size_t kLong = 32;
  static constexpr size_t kMiddle = 12;

  /// Mask of the plain tokens of at most `characters` characters. Plain tokens are whole characters
  /// that need no escape in a JSON string, at most kMaxPlain of them and kLong bytes.
  [[nodiscard]] std::span<const uint64_t> plain(size_t characters = kMaxPlain) const {
    return plain_up_to_[std::min(characters, kMaxPlain)];
  }
  static constexpr size_t kMaxPlain = 24;
  /// All other tokens, by their text after `characters` plain characters, as far as they have
  /// these. Tokens of more than kLong bytes count as a whole.
  [[nodiscard]] const TokenTrie& after_plain(size_t characters) const {
    return after_plain_[characters];
  }
  /// The other tokens after any number of plain characters.
  [[nodiscard]] const TokenTrie& after_any_plain() const { return after_any_plain_; }

  /// Tokens that the tokenizer makes of a text within others; control tokens are bytes as above.
  /// Empty if the tokenizer cannot spell exactly this text, or is absent.
  [[nodiscard]] std::vector<Token> spell(std::string_view text) const;
  /// Tokens of a text that another text will follow. Without the last tokens, which might be split
  /// differently, since some token reaches from there beyond the end.
  [[nodiscard]] std::vector<Token> spell_beginning(std::string_view text) const;
  /// Bytes that have a token of their own.
  [[nodiscard]] const ByteSet& bytes() const { return bytes_; }

 private:
  void build();
  bool append_spelled(std::string_view text, std::vector<Token>& out) const;

  std::shared_ptr<const Tokenizer> tokenizer_;  // may be null
  std::vector<Token> marks_;                    // tokens of the marks
  std::vector<std::string_view> texts_;         // views into owned_
  std::vector<std::string> owned_;
  std::vector<Token> end_tokens_;
  TokenTrie all_, long_, middle_, after_any_plain_;
  std::array<std::vector<uint64_t>, kMaxPlain + 1> plain_up_to_;
  std::array<TokenTrie, kMaxPlain + 1> after_plain_;
  ByteSet bytes_;
};

}  // namespace tenon::grammar
