// A checked vocabulary: spellings, the bytes each token stands for, types and special tokens. How
// text becomes tokens is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/string_index.h"
#include "text/vocabulary.h"

namespace tenon {

/// The families of tokenizers, which differ in how a spelling stands for bytes and in defaults.
enum class TokenizerKind {
  ByteLevel,      ///< "gpt2": spelled in the byte alphabet
  SentencePiece,  ///< "llama": spaces spelled as U+2581, `<0xNN>` byte tokens
  Characters,     ///< "gpt2" of that spelling, with merges
  Unigram,        ///< "t5": the same spelling
  WordPiece,      ///< "bert": a piece that begins a word begins with U+2581
  Escaped,        ///< "rwkv": bytes, with backslash escapes
};

/// The key's meaning where the file is silent.
struct TokenizerDefaults {
  TokenizerKind kind = TokenizerKind::ByteLevel;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::optional<int64_t> bos;
  std::optional<int64_t> eos;
  std::optional<int64_t> unknown;
};

/// U+2581, which stands for a space in SentencePiece vocabularies.
inline constexpr std::string_view kSpaceMark = "\u2581";
inline constexpr uint32_t kSpaceMarkCode = 0x2581;

/// Immutable after construction; any number of threads may read it.
class TokenTable {
 public:
  /// Takes over everything but the merges. Throws Error(Format) or Error(Limit) naming the key.
  TokenTable(Vocabulary vocabulary, const TokenizerDefaults& defaults);

  [[nodiscard]] size_t size() const { return spellings_.size(); }
  [[nodiscard]] bool contains(int64_t token) const {
    return token >= 0 && static_cast<uint64_t>(token) < size();
  }
  [[nodiscard]] std::optional<Token> find(std::string_view spelling) const;

  // The following require contains(token).
  [[nodiscard]] const std::string& spelling(Token token) const { return spellings_[index(token)]; }
  /// The bytes that the token stands for in text.
  [[nodiscard]] std::string_view piece(Token token) const {
    const size_t i = index(token);
    return std::string_view(pieces_).substr(piece_ends_[i], piece_ends_[i + 1] - piece_ends_[i]);
  }
  [[nodiscard]] TokenType type(Token token) const { return types_[index(token)]; }
  [[nodiscard]] float score(Token token) const {
    return scores_.empty() ? 0 : scores_[index(token)];
  }
  /// Whether white space after the token in a prompt belongs to it and is dropped.
  [[nodiscard]] bool strips_right(Token token) const {
    return !strips_right_.empty() && strips_right_[index(token)];
  }
  /// Control and Unknown: comes from text only when the caller asks.
  [[nodiscard]] bool is_structure(Token token) const {
    return type(token) == TokenType::Control || type(token) == TokenType::Unknown;
  }

  /// Ascending, each once.
  [[nodiscard]] const std::vector<Token>& end_tokens() const { return end_tokens_; }

  std::optional<Token> bos, eos, eot, eom, unknown, padding;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;

  /// Longest spelling, in bytes. Published vocabularies reach 1,024.
  static constexpr size_t kMaxTokenBytes = 65536;
  static constexpr size_t kMaxTokens = size_t{1} << 30;

 private:
  static size_t index(Token token) { return static_cast<size_t>(token); }
  void check_tokens() const;
  void check_types(TokenizerKind kind);
  void assume_types(TokenizerKind kind);  // for a file that gives none
  void check_scores(TokenizerKind kind) const;
  void set_special(const Vocabulary& vocabulary, const TokenizerDefaults& defaults);
  void set_end_tokens(const Vocabulary& vocabulary);
  void set_strips_right(std::string_view model_name);
  void set_pieces(TokenizerKind kind);

  std::vector<std::string> spellings_;
  std::vector<float> scores_;
  std::vector<TokenType> types_;
  StringIndex index_;
  std::string pieces_;                // all pieces, end to end
  std::vector<uint64_t> piece_ends_;  // [size() + 1]; piece i is [i], [i + 1]
  std::vector<bool> strips_right_;    // empty: none does
  std::vector<Token> end_tokens_;
};

}  // namespace tenon
