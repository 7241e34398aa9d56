// Tokens drawn at the end of an answer but not handed out, because their text may become a banned
// one, and the way back if it does. The caller (a session's call or the engine) computes logits and
// cuts the sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/answer_text.h"
#include "sampler/sampler.h"

namespace tenon {

/// Use from one thread at a time. Sequence, answer and sampler belong to the caller and stand after
/// the last held token.
///
/// A token is released as soon as no banned text can begin in it. If a banned text appears, the
/// text is cut back to the token in which it begins; that token is excluded at its position and
/// another token is drawn there. Draws depend only on the prefix: random numbers are keyed by
/// position and by the number of tokens excluded there, and exclusions after a dropped prefix are
/// found again in the same way.
class HeldTokens {
 public:
  /// More tokens than any banned text has, not counting tokens without text. When full, the first
  /// token is released; a banned text that began in it is cut back to the next token. A sampler
  /// remembers more draws than kMaxTokens.
  static constexpr size_t kMaxTokens = 200;
  static_assert(kMaxTokens > BannedTexts::kMaxTextBytes && kMaxTokens < Sampler::kHistory);
  /// Cuts allowed before one more token is released; after that the answer ends.
  static constexpr uint32_t kMaxTries = 256;
  static constexpr uint32_t kTriesAtOnce = 8;

  enum class Drawn {
    Taken,     ///< the last held token is new: append it to the sequence
    Back,      ///< cut the sequence to end() and draw the next token there
    Exhausted  ///< as Back, and the answer ends with Finish::Banned
  };

  /// Tokens that must not be drawn next. Valid until the next call.
  std::span<const Token> forbidden(AnswerText& answer, const EndRules& rules);
  /// Draws from the logits after `text`, the whole sequence. Returns Back if other logits are
  /// needed, or after kTriesAtOnce exclusions at this position, so that other requests need not
  /// wait for all.
  ///   room  as in push()
  Drawn draw(std::span<const float> logits, std::span<const Token> text, uint64_t room,
             Sampler& sampler, AnswerText& answer, const EndRules& rules,
             WorkWatch* watch = nullptr);
  /// Adds `token`, already taken by the sampler, after `position` tokens.
  ///   room  tokens the answer has room for, including held tokens; limits the held tokens
  Drawn push(Token token, bool was_drawn, uint64_t position, uint64_t room, Sampler& sampler,
             AnswerText& answer, const EndRules& rules);
  /// Removes the last token, which was not appended to the sequence.
  void pop(Sampler& sampler, AnswerText& answer) noexcept;

  struct Entry {
    explicit Entry(const AnswerText& answer) : before(answer) {}
    Token token = 0;
    bool was_drawn = false;  ///< false if a grammar left no choice
    Finish finish = Finish::None;
    std::string text;      ///< text it releases; for the last token with AnswerText::with_held
    SamplerMemory memory;  ///< after the token
    AnswerText before;     ///< the answer without the token
    std::vector<Token> excluded;  ///< excluded at its position
    uint64_t begins = 0;          ///< first byte of the answer that is the token's own
  };
  [[nodiscard]] const Entry& front() const { return slots_.front(); }
  [[nodiscard]] const Entry& back() const { return slots_[size_ - 1]; }
  /// Removes the first token, which is handed out.
  void pop_front();
  [[nodiscard]] size_t size() const { return size_; }
  /// Number of leading tokens that may be handed out.
  [[nodiscard]] size_t num_released() const { return num_released_; }
  void release_all() { num_released_ = size_; }
  /// Positions in the sequence of the first held token and after the last.
  [[nodiscard]] uint64_t begin() const { return begin_; }
  [[nodiscard]] uint64_t end() const { return begin_ + size_; }
  /// True if no token is held and none is excluded at the next position.
  [[nodiscard]] bool is_fresh() const { return size_ == 0 && excluded_.empty() && num_tries_ == 0; }

  /// Rewinds the sampler to before the first token and lets it take all held tokens again.
  void draw_again(Sampler& sampler) const;
  /// Drops all held tokens and restores the answer before them.
  void drop(AnswerText& answer) noexcept;

 private:
  // Entry::begins of a token without a character of its own.
  static constexpr uint64_t kNowhere = UINT64_MAX;

  Entry& prepare(const AnswerText& answer);
  void update_released(const AnswerText& answer, uint64_t room);
  /// Index of the token, among the first `count` slots, that contains a byte.
  [[nodiscard]] size_t token_of(uint64_t byte, size_t count) const;
  Drawn go_back(size_t index, Sampler& sampler, AnswerText& answer);
  Drawn exhaust();

  std::vector<Entry> slots_;  // the first size_ slots are in use; the others keep their memory
  size_t size_ = 0;
  size_t num_released_ = 0;
  uint64_t begin_ = 0;
  std::vector<Token> excluded_;  // at the position of the next token
  uint32_t num_tries_ = 0;
  std::vector<Token> forbidden_;
};

}  // namespace tenon
