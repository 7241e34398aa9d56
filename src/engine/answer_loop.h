// The decode loop of one answer, a token at a time: draws, keeps to banned texts, says what may be
// shown and where the answer ends. Who computes the logits, and who takes the pieces, is decided
// above: a generation goes on by itself, a session's call pauses after each piece.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/answer_text.h"
#include "engine/held_tokens.h"
#include "engine/sequence.h"
#include "sampler/sampler.h"

namespace tenon {

/// What a token shows: text and end of the answer, for its host.
struct AnswerPiece {
  Token token = 0;  ///< negative: there is none, all that could come is banned
  Finish finish = Finish::None;
  std::string_view text;   ///< valid until the next call
  bool was_drawn = false;  ///< not left without a choice by a grammar
};

[[noreturn]] void fail_not_finite();
/// Throws State "non-finite logits" when there is a NaN or an infinity.
void check_finite(std::span<const float> logits);

/// One thread at a time. Each round is draw() or force(), then settle(), then all pieces there are.
class AnswerLoop {
 public:
  /// The answer, where `answer` is, outlives it.
  explicit AnswerLoop(AnswerText& answer) : answer_(answer) {}
  AnswerLoop(const AnswerLoop&) = delete;
  AnswerLoop& operator=(const AnswerLoop&) = delete;

  /// From here on draws with this sampler under these rules, which stay until pause(). The sampler
  /// goes on after the tokens held.
  ///   sequence  whose last tokens are those held
  void resume(Sampler& sampler, EndRules& rules, const Sequence& sequence);
  /// The sampler goes back to the last token handed out.
  void pause();
  /// Whether what is held was drawn by this sampler, which has not changed, under the same bans.
  [[nodiscard]] bool goes_on_with(const Sampler& sampler, const EndRules& rules) const {
    return held_for_ == rules.banned && held_version_ == sampler.version();
  }

  /// The next token where a grammar leaves no choice; false when it is to be drawn.
  bool force(const Sequence& sequence, WorkWatch* watch);
  /// Draws from the logits [vocab] after the sequence, which stays as it is. Throws State
  /// "non-finite logits", what the sampler and the watch throw; the round is then as before.
  void draw(std::span<const float> logits, const Sequence& sequence, WorkWatch* watch);
  /// The same draw for a device (Sampler::describe_draw); false: draw() is needed.
  bool describe_draw(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                     std::vector<tenon_draw_bias>& biases);
  /// What draw_listed() needs of a device (Sampler::describe_candidates); false: draw() is needed.
  bool describe_candidates(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                           std::vector<tenon_draw_bias>& biases);
  /// The same as draw() from the largest logits; false where draw() is needed after all.
  bool draw_listed(const ListedLogits& listed, const Sequence& sequence, WorkWatch* watch);
  /// Instead of draw(): a device drew the token as described. False where a grammar refuses it, and
  /// draw() has the round to itself.
  bool take_drawn(Token token, WorkWatch* watch);
  [[nodiscard]] bool has_grammar() const { return sampler_->grammar() != nullptr; }
  /// Works out what draw() may need of a grammar, as far as no logits are needed.
  void prepare_mask(WorkWatch* watch) { sampler_->prepare_mask(watch); }
  /// Whether the round brought a token, and which.
  [[nodiscard]] bool has_token() const { return outcome_ == HeldTokens::Drawn::Taken; }
  [[nodiscard]] Token token() const { return token_; }

  /// The sequence gets the token; or cut(size) is called to take back what led to a banned text.
  template <typename Cut>
  void settle(Sequence& sequence, Cut cut) {
    is_open_ = false;
    if (!has_token()) return cut(held_.end());
    try {
      sequence.append({&token_, 1});
    } catch (...) {
      take_back();
      throw;
    }
    is_new_ = !bans();
  }

  /// Instead of settle(), when the call that drew fails after all: nothing was drawn.
  template <typename Cut>
  void undo(Cut cut) {
    if (!std::exchange(is_open_, false)) return;
    if (!has_token()) return cut(held_.end());
    take_back();
  }

  /// Whether there is a piece to take.
  [[nodiscard]] bool has_piece() const {
    return is_new_ || held_.num_released() > 0 || outcome_ == HeldTokens::Drawn::Exhausted;
  }
  /// The next piece. With the last token allowed it shows what was held back for a stop.
  AnswerPiece take_piece();

  /// Tokens at the end of the sequence that are drawn and not handed out.
  [[nodiscard]] uint64_t num_held() const { return held_.size(); }
  /// Tokens of the sequence before them.
  [[nodiscard]] uint64_t held_begin() const { return held_.begin(); }
  /// Whether dropping the held ones changes anything.
  [[nodiscard]] bool is_fresh() const { return held_.is_fresh(); }
  /// Forgets them; the sequence is to be cut to held_begin() first.
  void drop_held() noexcept;

 private:
  [[nodiscard]] bool bans() const { return rules_->banned != nullptr; }
  [[nodiscard]] uint64_t room(const Sequence& sequence) const;
  void take(Token token);
  void take_back() noexcept;
  AnswerPiece next_piece();

  AnswerText& answer_;
  Sampler* sampler_ = nullptr;
  EndRules* rules_ = nullptr;
  HeldTokens held_;  // with banned texts
  HeldTokens::Drawn outcome_ = HeldTokens::Drawn::Back;
  Token token_ = 0;
  bool is_open_ = false;  // drawn, not settled
  bool is_new_ = false;   // without banned texts: the token is in the sequence, and not handed out
  bool was_drawn_ = false;
  std::string text_;  // of the piece handed out
  // What is held between two calls, and was drawn under.
  std::shared_ptr<const BannedTexts> held_for_;
  uint64_t held_version_ = 0;
};

}  // namespace tenon
