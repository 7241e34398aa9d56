// From drawn tokens to the text that may be shown, and to where it ends: whole characters, stop
// texts, stop tokens, a least number of tokens. Drawing is the sampler's business.
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

/// How a generation came to its end; the numbers are those of the C interface.
enum class Finish : int32_t { None = 0, End = 1, MaxTokens = 2, Stop = 3, Banned = 4 };

/// What ends an answer, and what may not be in it.
struct EndRules {
  std::shared_ptr<const StopStrings> stops;   ///< null: none
  std::vector<Token> stop_tokens;             ///< ascending
  uint64_t min_tokens = 0;                    ///< nothing ends it before
  bool ignore_end = false;                    ///< an end token is one like any other
  std::shared_ptr<const BannedTexts> banned;  ///< null: none; AnswerLoop keeps to it
  /// Tokens that may still come; counted down as they are handed out. The last one shows all that is
  /// held back.
  uint64_t tokens_left = UINT64_MAX;
};

/// The answer at the end of a session's text. One thread at a time.
class AnswerText {
 public:
  /// The tokenizer must outlive it.
  explicit AnswerText(const Tokenizer& tokenizer);

  /// A text of `position` tokens changed other than by generating: a character begun before is not
  /// to be continued.
  void restart(uint64_t position);
  /// The text as it is, whose last `num_generated` tokens were generated.
  void resume(std::span<const Token> text, uint64_t num_generated);
  /// Catches up with a text that was continued elsewhere.
  void follow(std::span<const Token> text);

  /// Tokens that may not be drawn next. Valid until the next call.
  std::span<const Token> forbidden(const EndRules& rules);

  struct Shown {
    std::string_view text;  ///< whole characters, and nothing of a stop; valid until the next call
    Finish finish = Finish::None;
    /// Where a banned text begins, in bytes of the answer: the token may not stay.
    std::optional<uint64_t> banned_from{};
    uint64_t first_character = 0;  ///< bytes of the first one that the token completes, if any
  };
  /// The next token of the answer.
  Shown push(Token token, const EndRules& rules);
  /// `text` of the latest push and what is held back because it may begin a stop: for the last
  /// piece of an answer that ends otherwise. Valid until the next call.
  std::string_view with_held(std::string_view text);
  /// What is held back, which is thereby handed out. Valid until the next call.
  std::string_view take_held() { return stream_.finish(); }

  [[nodiscard]] uint64_t num_generated() const { return num_generated_; }
  /// Seed of the answer's draws; nothing before the first draw.
  [[nodiscard]] std::optional<uint64_t> seed() const { return seed_; }
  void set_seed(std::optional<uint64_t> seed) { seed_ = seed; }
  /// With banned texts: the answer as far as its characters are whole.
  [[nodiscard]] const BanWatch& watch() const { return watch_; }
  /// The last token ended within a character.
  [[nodiscard]] bool is_in_character() const { return decoder_.holds_partial(); }

 private:
  const Tokenizer* tokenizer_;
  StreamDecoder decoder_;
  StopStream stream_;
  BanWatch watch_;
  uint64_t position_ = 0;       // tokens of the text that the decoder has seen
  uint64_t num_generated_ = 0;  // since the text last changed otherwise
  std::optional<uint64_t> seed_;
  std::string tail_;
  std::vector<Token> forbidden_;
};

}  // namespace tenon
