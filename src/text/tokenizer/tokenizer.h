// Text to tokens and back, for one vocabulary; how the vocabulary was read is not known here.
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

/// How a text becomes tokens.
struct EncodeOptions {
  bool add_special = false;    ///< add the begin (and end) token where the vocabulary says so
  bool parse_special = false;  ///< text that spells a control token becomes that token
};

/// A piece of a prompt and whether it may spell control tokens and marks: true for a chat
/// template's own text, false for what a person typed.
struct TextPart {
  std::string_view text;
  bool parse_special = false;
};

/// How tokens become text.
struct DecodeOptions {
  bool render_special = false;  ///< show control and unknown tokens by their names
  /// Remove the one space that encode() put before the text, and before the text after each special
  /// token (SentencePiece vocabularies only).
  bool strip_space_prefix = true;
};

/// A tokenizer: immutable after construction, so any number of threads may share one.
///
/// Text is UTF-8. Each maximal ill-formed part of a prompt is replaced by U+FFFD (the Unicode
/// recommendation, the same rule as StreamDecoder), so encode() takes any bytes. Time and memory
/// are in proportion to the text.
class Tokenizer {
 public:
  virtual ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// The tokens of `text`. User-defined tokens that are text are always recognised; control tokens,
  /// and user-defined ones that are marks such as <tool_call>, only with parse_special. Throws
  /// Error(Limit) for a text beyond kMaxTextBytes.
  [[nodiscard]] std::vector<Token> encode(std::string_view text, EncodeOptions options = {}) const;

  /// The tokens of the parts laid end to end, each with its own right to spell control tokens.
  /// Where no special token stands between two parts, they are tokenized as one text.
  [[nodiscard]] std::vector<Token> encode(std::span<const TextPart> parts, bool add_special) const;

  /// The text of one token, as bytes: possibly part of a UTF-8 character. Empty for control and
  /// unknown tokens unless render_special. Throws Error(Argument) for an id outside [0, size()).
  [[nodiscard]] std::string_view decode(Token token, bool render_special = false) const;

  /// The text of many tokens, as bytes.
  [[nodiscard]] std::string decode(std::span<const Token> tokens, DecodeOptions options = {}) const;

  /// The text of one token of a sequence. `at_start` is the state between calls: true before the
  /// first, and kept by this function after that.
  [[nodiscard]] std::string_view decode_next(Token token, DecodeOptions options,
                                             bool& at_start) const;

  /// The token as the file spells it ("Ġthe", "▁the", "<0x0A>"). Errors as decode().
  [[nodiscard]] std::string_view spelling(Token token) const;

  /// Token with this spelling, if any; the last of several.
  [[nodiscard]] std::optional<Token> find(std::string_view spelling) const;

  /// Number of tokens.
  [[nodiscard]] size_t size() const;
  /// The kind of a token. Errors as decode().
  [[nodiscard]] TokenType type(Token token) const;
  /// Whether generation stops here: end of text, of turn or of message. False for unknown ids.
  [[nodiscard]] bool is_end(Token token) const;
  /// Whether a token is structure rather than text. False for unknown ids.
  [[nodiscard]] bool is_control(Token token) const;
  /// Every token for which is_end() holds, ascending.
  [[nodiscard]] std::span<const Token> end_tokens() const;

  [[nodiscard]] std::optional<Token> bos() const;
  [[nodiscard]] std::optional<Token> eos() const;
  [[nodiscard]] std::optional<Token> eot() const;
  [[nodiscard]] std::optional<Token> unknown() const;
  [[nodiscard]] std::optional<Token> padding() const;
  /// What add_special adds.
  [[nodiscard]] bool adds_bos() const;
  [[nodiscard]] bool adds_eos() const;
  /// Whether encode() puts a space before a text (SentencePiece vocabularies).
  [[nodiscard]] bool adds_space_prefix() const;

  /// Tolerated oddities of the vocabulary, a line each.
  [[nodiscard]] std::span<const std::string> warnings() const;

  /// The longest text that encode() takes.
  static constexpr size_t kMaxTextBytes = size_t{1} << 30;

 protected:
  /// Where a stretch of text lies.
  struct Place {
    bool at_start;       ///< at the beginning of everything or after a special token
    bool at_text_begin;  ///< at the beginning of everything
    bool parse_special;  ///< all of it may spell control tokens
  };

  Tokenizer(std::unique_ptr<const TokenTable> table, std::shared_ptr<System> system);
  [[nodiscard]] const TokenTable& table() const { return *table_; }
  [[nodiscard]] const TokenSurroundings& surroundings() const { return surroundings_; }
  /// For memory in proportion to a text.
  [[nodiscard]] System& system() const { return *system_; }

  /// Whether a token is matched in text before anything else.
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
  SpecialMatcher always_;          // user-defined tokens that are text
  SpecialMatcher with_structure_;  // and marks, control and unknown tokens
  bool cuts_at_rights_;            // what may spell control tokens is tokenized apart
};

/// Checks a vocabulary and builds its tokenizer. Throws Error(Format) naming the key, the index and
/// the value for anything malformed, Error(Unsupported) for an unknown tokenizer.ggml.model or
/// tokenizer.ggml.pre (listing the known ones).
std::unique_ptr<const Tokenizer> make_tokenizer(Vocabulary vocabulary,
                                                std::shared_ptr<System> system = System::real());

}  // namespace tenon
