// Turns drawn tokens into text to release, and finds the end: whole characters, stop texts, stop
// tokens, minimum length. The sampler draws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampler/banned_texts.h"
#include "sampler/stop_strings.h"
#include "text/tokenizer/stream_decoder.h"
#include "text/tokenizer/tokenizer.h"

namespace tenon {

/// Why a generation ended. Values match the C interface.
enum class Finish : int32_t { None = 0, End = 1, MaxTokens = 2, Stop = 3, Banned = 4 };

/// End conditions and banned texts of an answer.
struct EndRules {
  std::shared_ptr<const StopStrings> stops;   ///< may be null
  std::vector<Token> stop_tokens;             ///< ascending
  uint64_t min_tokens = 0;                    ///< tokens before any end condition applies
  bool ignore_end = false;                    ///< treats end tokens as text
  std::shared_ptr<const BannedTexts> banned;  ///< may be null; enforced by AnswerLoop
  /// Tokens left to hand out. The last token releases all text held back.
  uint64_t tokens_left = UINT64_MAX;
};

/// The answer at the end of a session's text. Use from one thread at a time.
class AnswerText {
 public:
  /// The tokenizer must outlive it.
  explicit AnswerText(const Tokenizer& tokenizer);

  /// The text, now of `position` tokens, was changed other than by generating. Drops a partial
  /// character.
  void restart(uint64_t position);
  /// Continues a text whose last `num_generated` tokens were generated.
  void resume(std::span<const Token> text, uint64_t num_generated);
  /// Catches up with a text that was extended elsewhere.
  void follow(std::span<const Token> text);

  /// Tokens that must not be drawn next. Valid until the next call.
  std::span<const Token> forbidden(const EndRules& rules);

  struct Shown {
    /// Whole characters, without any part of a stop; valid until the next call.
    std::string_view text;
    Finish finish = Finish::None;
    /// First byte, in the answer, of a banned text; the token must be removed then.
    std::optional<uint64_t> banned_from{};
    uint64_t first_character = 0;  ///< bytes of the first character that it completes
  };
  /// Adds the next token of the answer.
  Shown push(Token token, const EndRules& rules);
  /// `text` of the latest push plus text held back as a possible stop: the last piece of an answer
  /// that ends for another reason. Valid until the next call.
  std::string_view with_held(std::string_view text);
  /// Returns and releases the text held back. Valid until the next call.
  std::string_view take_held() { return stream_.finish(); }

  [[nodiscard]] uint64_t num_generated() const { return num_generated_; }
  /// Seed of the answer's draws; empty before the first draw.
  [[nodiscard]] std::optional<uint64_t> seed() const { return seed_; }
  void set_seed(std::optional<uint64_t> seed) { seed_ = seed; }
  /// With banned texts: the whole characters of the answer.
  [[nodiscard]] const BanWatch& watch() const { return watch_; }
  /// True if the last token ended inside a character.
  [[nodiscard]] bool is_in_character() const { return decoder_.holds_partial(); }

 private:
  const Tokenizer* tokenizer_;
  StreamDecoder decoder_;
  StopStream stream_;
  BanWatch watch_;
  uint64_t position_ = 0;       // tokens seen by the decoder
  uint64_t num_generated_ = 0;  // since the last other change of the text
  std::optional<uint64_t> seed_;
  std::string tail_;
  std::vector<Token> forbidden_;
};

}  // namespace tenon
