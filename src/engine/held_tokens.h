// The tokens at the end of an answer that are drawn and not yet handed out, because their text may
// become a banned one; and the way back when it does. Computing logits and cutting the sequence is
// the business of who draws: a session's call or the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/answer_text.h"
#include "sampler/sampler.h"

namespace tenon {

/// One thread at a time. Sequence, answer and sampler, which are the caller's, are those after the
/// last token held.
///
/// A token may go as soon as no banned text can begin in it any more. When a banned text comes, all
/// goes back to the token in which it begins, that token is excluded at its place, and another is
/// drawn there. What is drawn after a prefix depends on the prefix alone: random numbers are keyed
/// by the position and by how many tokens are excluded there, and what is excluded is found out
/// again in the same way when the tokens after the prefix are dropped.
class HeldTokens {
 public:
  /// Longer than any banned text has tokens, but for those without a text: then the first may go,
  /// and a banned text that began in it goes back to the one after it. A sampler remembers more
  /// draws.
  static constexpr size_t kMaxTokens = 200;
  static_assert(kMaxTokens > BannedTexts::kMaxTextBytes && kMaxTokens < Sampler::kHistory);
  /// How often a text goes back before one more token may go; then the answer ends.
  static constexpr uint32_t kMaxTries = 256;
  static constexpr uint32_t kTriesAtOnce = 8;

  enum class Drawn {
    Taken,     ///< the last of those held is new: to be appended to the sequence
    Back,      ///< the sequence is to be cut to end(), the next token to be drawn after that
    Exhausted  ///< the same, and the answer ends there with Finish::Banned
  };

  /// Tokens that may not be drawn next. Valid until the next call.
  std::span<const Token> forbidden(AnswerText& answer, const EndRules& rules);
  /// Draws from the logits after `text`, the whole sequence. Back when other logits are needed, or
  /// after kTriesAtOnce tokens that were excluded right here, so that others need not wait for all.
  ///   room  as push
  Drawn draw(std::span<const float> logits, std::span<const Token> text, uint64_t room,
             Sampler& sampler, AnswerText& answer, const EndRules& rules,
             WorkWatch* watch = nullptr);
  /// `token`, which the sampler has taken, comes after `position` tokens.
  ///   room  how many tokens the answer has room for, those held included: no more are held
  Drawn push(Token token, bool was_drawn, uint64_t position, uint64_t room, Sampler& sampler,
             AnswerText& answer, const EndRules& rules);
  /// Takes back the last token, which was not appended.
  void pop(Sampler& sampler, AnswerText& answer) noexcept;

  struct Entry {
    explicit Entry(const AnswerText& answer) : before(answer) {}
    Token token = 0;
    bool was_drawn = false;  ///< not left without a choice by a grammar
    Finish finish = Finish::None;
    std::string text;             ///< what it shows; the last one and AnswerText::with_held
    SamplerMemory memory;         ///< after it
    AnswerText before;            ///< the answer without it
    std::vector<Token> excluded;  ///< at its place
    uint64_t begins = 0;          ///< the first byte of the answer that is its own
  };
  [[nodiscard]] const Entry& front() const { return slots_.front(); }
  [[nodiscard]] const Entry& back() const { return slots_[size_ - 1]; }
  /// The first is handed out.
  void pop_front();
  [[nodiscard]] size_t size() const { return size_; }
  /// How many of the first may go.
  [[nodiscard]] size_t num_released() const { return num_released_; }
  void release_all() { num_released_ = size_; }
  /// Tokens of the sequence up to the first held and up to the last.
  [[nodiscard]] uint64_t begin() const { return begin_; }
  [[nodiscard]] uint64_t end() const { return begin_ + size_; }
  /// Nothing is held, and nothing excluded where the next token comes.
  [[nodiscard]] bool is_fresh() const { return size_ == 0 && excluded_.empty() && num_tries_ == 0; }

  /// The sampler, which stands before the first token, draws them all again.
  void draw_again(Sampler& sampler) const;
  /// Drops all; the answer is the one before them.
  void drop(AnswerText& answer) noexcept;

 private:
  static constexpr uint64_t kNowhere = UINT64_MAX;  // for Entry::begins: in no character of its own

  Entry& prepare(const AnswerText& answer);
  void update_released(const AnswerText& answer, uint64_t room);
  /// Of the first `count` slots.
  [[nodiscard]] size_t token_of(uint64_t byte, size_t count) const;
  Drawn go_back(size_t index, Sampler& sampler, AnswerText& answer);
  Drawn exhaust();

  std::vector<Entry> slots_;  // the first size_ count; the others keep their memory
  size_t size_ = 0;
  size_t num_released_ = 0;
  uint64_t begin_ = 0;
  std::vector<Token> excluded_;  // where the next token comes
  uint32_t num_tries_ = 0;
  std::vector<Token> forbidden_;
};

}  // namespace tenon
