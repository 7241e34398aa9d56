// Text to tokens and back, for one vocabulary; files are read elsewhere.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/system.h"
#include "text/tokenizer/special_matcher.h"
#include "text/tokenizer/token_boundaries.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

class TokenTable;

/// Options of encode().
struct EncodeOptions {
  bool add_special = false;    ///< add the begin (and end) token if the vocabulary says so
  bool parse_special = false;  ///< convert text that spells a control token to the token
};

/// A piece of a prompt. parse_special: it may spell control tokens and marks; true for a chat
/// template's own text, false for a user's.
struct TextPart {
  std::string_view text;
  bool parse_special = false;
};

/// Options of decode().
struct DecodeOptions {
  bool render_special = false;  ///< show control and unknown tokens by their names
  /// Remove the space that encode() adds before the text and after each special token
  /// (SentencePiece vocabularies only).
  bool strip_space_prefix = true;
};

/// A tokenizer: immutable after construction, so any number of threads may share one.
///
/// Text is UTF-8. Each maximal ill-formed part of a prompt becomes U+FFFD (Unicode's
/// recommendation, as in StreamDecoder), so encode() accepts any bytes. Time and memory are linear
/// in the text.
class Tokenizer {
 public:
  virtual ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Tokenizes `text`. User-defined text tokens are always recognised; control tokens, and
  /// user-defined marks such as <tool_call>, only with parse_special. Throws Limit for a text
  /// beyond kMaxTextBytes.
  [[nodiscard]] std::vector<Token> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Tokenizes the concatenation of the parts, each with its own parse_special. Parts without a
  /// special token between them are tokenized as one text.
  [[nodiscard]] std::vector<Token> encode(std::span<const TextPart> parts, bool add_special) const;

  /// Bytes of one token: possibly part of a UTF-8 character. Empty for control and unknown tokens
  /// unless render_special. Throws Argument for an id outside [0, size()).
  [[nodiscard]] std::string_view decode(Token token, bool render_special = false) const;

  /// Bytes of many tokens.
  [[nodiscard]] std::string decode(std::span<const Token> tokens, DecodeOptions options = {}) const;

  /// Bytes of one token in a sequence. `at_start` is state between calls: pass true for the first
  /// token; the function updates it.
  [[nodiscard]] std::string_view decode_next(Token token, DecodeOptions options,
                                             bool& at_start) const;

  /// The token's spelling in the file ("Ġthe", "▁the", "<0x0A>"). Errors as in decode().
  [[nodiscard]] std::string_view spelling(Token token) const;

  /// The token with this spelling, if any; the last of several.
  [[nodiscard]] std::optional<Token> find(std::string_view spelling) const;

  [[nodiscard]] size_t size() const;
  /// Type of a token. Errors as in decode().
  [[nodiscard]] TokenType type(Token token) const;
  /// True for tokens that end a text, a turn or a message, and so a generation. False for unknown
  /// ids.
  [[nodiscard]] bool is_end(Token token) const;
  /// True for tokens that are structure, not text. False for unknown ids.
  [[nodiscard]] bool is_control(Token token) const;
  /// All tokens with is_end(), ascending.
  [[nodiscard]] std::span<const Token> end_tokens() const;

  [[nodiscard]] std::optional<Token> bos() const;
  [[nodiscard]] std::optional<Token> eos() const;
  [[nodiscard]] std::optional<Token> eot() const;
  [[nodiscard]] std::optional<Token> unknown() const;
  [[nodiscard]] std::optional<Token> padding() const;
  /// Tokens added by add_special.
  [[nodiscard]] bool adds_bos() const;
  [[nodiscard]] bool adds_eos() const;
  /// True if encode() adds a space before a text (SentencePiece vocabularies).
  [[nodiscard]] bool adds_space_prefix() const;

  /// Tolerated oddities of the vocabulary, a line each.
  [[nodiscard]] std::span<const std::string> warnings() const;

  /// Longest text accepted by encode().
  static constexpr size_t kMaxTextBytes = size_t{1} << 30;

 protected:
  /// Position of a stretch of text.
  struct Place {
    bool at_start;       ///< begins the input, or follows a special token
    bool at_text_begin;  ///< begins the input
    bool parse_special;  ///< all of it may spell control tokens
  };

  Tokenizer(std::unique_ptr<const TokenTable> table, std::shared_ptr<System> system);
  [[nodiscard]] const TokenTable& table() const { return *table_; }
  [[nodiscard]] const TokenSurroundings& surroundings() const { return surroundings_; }
  /// System for memory that grows with a text.
  [[nodiscard]] System& system() const { return *system_; }

  /// True if the token is matched in text before anything else.
  static bool is_matched(const TokenTable& table, Token token, bool parse_special);

 private:
  /// Appends the tokens of `text`: well-formed UTF-8, not empty, without special tokens.
  virtual void encode_text(std::string_view text, Place place, std::vector<Token>& out) const = 0;

  static SpecialMatcher matcher_of(const TokenTable& table, bool parse_special);
  void check(Token token) const;
  [[nodiscard]] bool shows(Token token, bool render_special) const;

  std::unique_ptr<const TokenTable> table_;
  std::shared_ptr<System> system_;
  TokenSurroundings surroundings_;
  SpecialMatcher always_;          // user-defined text tokens
  SpecialMatcher with_structure_;  // these, and marks, control and unknown tokens
  bool cuts_at_rights_;            // tokenize parts with different parse_special apart
};

/// Checks a vocabulary and builds its tokenizer. Throws Format, naming the key, the index and the
/// value, for malformed data. Throws Unsupported for an unknown tokenizer.ggml.model or
/// tokenizer.ggml.pre, and lists the known ones.
std::unique_ptr<const Tokenizer> make_tokenizer(Vocabulary vocabulary,
                                                std::shared_ptr<System> system = System::real());

}  // namespace tenon
