// The decode loop of one answer, one token at a time: draws, keeps banned texts out, releases text
// and finds the end. Callers compute the logits and consume the pieces. A generation runs on by
// itself; a session's call pauses after each piece.
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

/// The text released with a token, and the end of the answer.
struct AnswerPiece {
  Token token = 0;  ///< negative if every possible token is banned
  Finish finish = Finish::None;
  std::string_view text;   ///< valid until the next call
  bool was_drawn = false;  ///< false if a grammar left no choice
};

[[noreturn]] void fail_not_finite();
/// Throws State "non-finite logits" if a logit is NaN or infinite.
void check_finite(std::span<const float> logits);

/// Use from one thread at a time. Each round is draw() or force(), then settle(), then take_piece()
/// while has_piece().
class AnswerLoop {
 public:
  /// `answer` must outlive the loop.
  explicit AnswerLoop(AnswerText& answer) : answer_(answer) {}
  AnswerLoop(const AnswerLoop&) = delete;
  AnswerLoop& operator=(const AnswerLoop&) = delete;

  /// Draws with this sampler under these rules until pause(). The sampler continues after the held
  /// tokens.
  ///   sequence  ends with the held tokens
  void resume(Sampler& sampler, EndRules& rules, const Sequence& sequence);
  /// Rolls the sampler back to the last token handed out.
  void pause();
  /// True if the held tokens were drawn by this sampler, unchanged since, under the same bans.
  [[nodiscard]] bool goes_on_with(const Sampler& sampler, const EndRules& rules) const {
    return held_for_ == rules.banned && held_version_ == sampler.version();
  }

  /// Takes the next token if a grammar leaves no choice. Returns false if it must be drawn.
  bool force(const Sequence& sequence, WorkWatch* watch);
  /// Tokens that force() would take one after another (Sampler::forced_ahead), the next one last.
  [[nodiscard]] std::span<const Token> forced_ahead(WorkWatch* watch);
  /// Draws from the logits [vocab] after the sequence and leaves the sequence unchanged. Throws
  /// State "non-finite logits" and the errors of the sampler and the watch; the round is unchanged
  /// then.
  void draw(std::span<const float> logits, const Sequence& sequence, WorkWatch* watch);
  /// Describes the draw for a device (Sampler::describe_draw). Returns false if draw() is needed.
  bool describe_draw(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                     std::vector<tenon_draw_bias>& biases);
  /// Describes the candidates for draw_listed() (Sampler::describe_candidates). Returns false if
  /// draw() is needed.
  bool describe_candidates(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                           std::vector<tenon_draw_bias>& biases);
  /// Draws like draw(), from the largest logits only. Returns false if draw() is needed.
  bool draw_listed(const ListedLogits& listed, const Sequence& sequence, WorkWatch* watch);
  /// Takes the token that a device drew as described, in place of draw(). Returns false if a
  /// grammar refuses the token; call draw() then.
  bool take_drawn(Token token, WorkWatch* watch);
  /// The sampler; stands after the held tokens.
  [[nodiscard]] const Sampler& sampler() const { return *sampler_; }
  [[nodiscard]] bool has_grammar() const { return sampler_->grammar() != nullptr; }
  /// Precomputes the grammar's token mask for the next draw().
  void prepare_mask(WorkWatch* watch) { sampler_->prepare_mask(watch); }
  /// True if a round is drawn and not settled.
  [[nodiscard]] bool is_open() const { return is_open_; }
  /// True if the round produced a token.
  [[nodiscard]] bool has_token() const { return outcome_ == HeldTokens::Drawn::Taken; }
  [[nodiscard]] Token token() const { return token_; }

  /// Appends the token to the sequence, or calls cut(size) to remove the beginning of a banned
  /// text.
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

  /// Undoes the draw, in place of settle(), if the call fails after it.
  template <typename Cut>
  void undo(Cut cut) {
    if (!std::exchange(is_open_, false)) return;
    if (!has_token()) return cut(held_.end());
    take_back();
  }

  /// True if take_piece() has a piece.
  [[nodiscard]] bool has_piece() const {
    return is_new_ || held_.num_released() > 0 || outcome_ == HeldTokens::Drawn::Exhausted;
  }
  /// Takes the next piece. The last allowed token also releases text held back for a stop.
  AnswerPiece take_piece();

  /// Drawn tokens at the end of the sequence that are not handed out.
  [[nodiscard]] uint64_t num_held() const { return held_.size(); }
  /// Position of the first held token.
  [[nodiscard]] uint64_t held_begin() const { return held_.begin(); }
  /// True if dropping the held tokens changes the state.
  [[nodiscard]] bool is_fresh() const { return held_.is_fresh(); }
  /// Forgets the held tokens. Cut the sequence to held_begin() first.
  void drop_held() noexcept;

 private:
  [[nodiscard]] bool bans() const { return rules_->banned != nullptr; }
  [[nodiscard]] std::span<const Token> forbidden();
  [[nodiscard]] uint64_t room(const Sequence& sequence) const;
  void take(Token token);
  void take_back() noexcept;
  AnswerPiece next_piece();

  AnswerText& answer_;
  Sampler* sampler_ = nullptr;
  EndRules* rules_ = nullptr;
  HeldTokens held_;  // used with banned texts
  HeldTokens::Drawn outcome_ = HeldTokens::Drawn::Back;
  Token token_ = 0;
  bool is_open_ = false;  // drawn but not settled
  bool is_new_ = false;   // without banned texts: token is appended but not handed out
  bool was_drawn_ = false;
  std::string text_;  // text of the last piece
  // Rules and sampler version of the tokens held between two calls.
  std::shared_ptr<const BannedTexts> held_for_;
  uint64_t held_version_ = 0;
};

}  // namespace tenon
