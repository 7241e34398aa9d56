// A checked vocabulary: spellings, bytes per token, types and special tokens. Tokenizers use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/string_index.h"
#include "text/tokenizer/string_list.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Families of tokenizers; they differ in how spellings map to bytes, and in defaults.
enum class TokenizerKind {
  ByteLevel,      ///< "gpt2": spelled in the byte alphabet
  SentencePiece,  ///< "llama": spaces spelled as U+2581, `<0xNN>` byte tokens
  Characters,     ///< "gpt2" with SentencePiece's spelling, with merges
  Unigram,        ///< "t5": SentencePiece's spelling
  WordPiece,      ///< "bert": a piece that begins a word begins with U+2581
  Escaped,        ///< "rwkv": bytes, with backslash escapes
  Plain,          ///< "plamo2": the text itself, `<0xNN>` byte tokens
  Listed,         ///< tokenizer.json: Vocabulary::pieces has the bytes of each token
};

/// Values of keys that the file lacks.
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

/// True for a user-defined token that is a mark: spelled <...> or [...], and no HTML. Models use
/// such tokens as structure (<tool_call>, [INST]), whatever type a file gives them.
bool is_mark(std::string_view spelling);

/// Immutable after construction; any number of threads may read it.
class TokenTable {
 public:
  /// Takes all fields but the merges. Throws Format or Limit naming the key.
  TokenTable(Vocabulary vocabulary, const TokenizerDefaults& defaults);

  [[nodiscard]] size_t size() const { return spellings_.size(); }
  [[nodiscard]] bool contains(int64_t token) const {
    return token >= 0 && static_cast<uint64_t>(token) < size();
  }
  /// Token with this spelling; the last of several.
  [[nodiscard]] std::optional<Token> find(std::string_view spelling) const;
  /// Tolerated oddities of the file, a line each, without the file's name.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Adds a warning while the tokenizer is built.
  void warn(std::string text) const { warnings_.push_back(std::move(text)); }

  // All functions below require contains(token).
  /// True if a later token has an equal spelling, so that no text becomes `token`.
  [[nodiscard]] bool is_twin(Token token) const { return !twins_.empty() && twins_[index(token)]; }
  [[nodiscard]] std::string_view spelling(Token token) const { return spellings_[index(token)]; }
  /// Bytes of the token in text.
  [[nodiscard]] std::string_view piece(Token token) const { return pieces_[index(token)]; }
  [[nodiscard]] TokenType type(Token token) const { return types_[index(token)]; }
  [[nodiscard]] float score(Token token) const {
    return scores_.empty() ? 0 : scores_[index(token)];
  }
  /// Bytes of the token at the start of a text.
  [[nodiscard]] std::string_view first_piece(Token token) const {
    return first_pieces_.empty() ? piece(token) : first_pieces_[index(token)];
  }
  /// True if first_piece() differs from piece() for any token.
  [[nodiscard]] bool has_first_pieces() const { return !first_pieces_.empty(); }
  /// TokenMatching bits.
  [[nodiscard]] uint8_t matching(Token token) const {
    return matching_.empty() ? 0 : matching_[index(token)];
  }
  /// True for control and unknown tokens.
  [[nodiscard]] bool is_structure(Token token) const {
    return type(token) == TokenType::Control || type(token) == TokenType::Unknown;
  }
  /// True for tokens that text becomes only on request: structure, and user-defined marks.
  [[nodiscard]] bool is_reserved(Token token) const {
    return is_structure(token) ||
           (type(token) == TokenType::UserDefined && is_mark(spelling(token)));
  }

  /// Unique, in ascending order.
  [[nodiscard]] const std::vector<Token>& end_tokens() const { return end_tokens_; }

  std::optional<Token> bos, eos, eot, eom, unknown, padding;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  std::vector<Token> tokens_before;  ///< added before a text on request
  std::vector<Token> tokens_after;

  /// Longest spelling in bytes. Published vocabularies reach 1,024. Walking along a token takes
  /// time per byte of it, at any byte of a text.
  static constexpr size_t kMaxTokenBytes = 4096;
  static constexpr size_t kMaxTokens = size_t{1} << 30;

 private:
  static size_t index(Token token) { return static_cast<size_t>(token); }
  void check_tokens() const;
  void index_spellings();
  void check_types(TokenizerKind kind);
  void assume_types(TokenizerKind kind);  // used for files without types
  void check_scores(TokenizerKind kind) const;
  void set_special(const Vocabulary& vocabulary, const TokenizerDefaults& defaults);
  void set_end_tokens(const Vocabulary& vocabulary, TokenizerKind kind);
  void set_tokens_around(const Vocabulary& vocabulary);
  void set_strips_right(std::string_view model_name);
  void set_pieces(TokenizerKind kind, const Vocabulary& vocabulary);

  StringList spellings_;
  std::vector<float> scores_;
  std::vector<TokenType> types_;
  StringList pieces_;
  StringList first_pieces_;        // empty means equal to pieces_
  std::vector<uint8_t> matching_;  // empty means 0
  StringIndex index_;
  std::vector<bool> twins_;  // empty means none
  mutable std::vector<std::string> warnings_;
  std::vector<Token> end_tokens_;
};

}  // namespace tenon
