#include "engine/answer_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace tenon {

void fail_not_finite() { fail(Code::State, "session: non-finite logits; the weights are broken"); }

void check_finite(std::span<const float> logits) {
  // Branch-free, so one pass runs at memory speed. NaN compares false.
  uint32_t bad = 0;
  for (const float x : logits) bad |= std::abs(x) <= std::numeric_limits<float>::max() ? 0u : 1u;
  if (bad != 0) fail_not_finite();
}

void AnswerLoop::resume(Sampler& sampler, EndRules& rules, const Sequence& sequence) {
  sampler_ = &sampler;
  rules_ = &rules;
  outcome_ = HeldTokens::Drawn::Back;
  is_open_ = false;
  if (held_.size() == 0) answer_.follow(sequence.tokens());
  if (!bans()) return;
  held_.draw_again(sampler);
  if (held_.size() >= room(sequence)) held_.release_all();
}

void AnswerLoop::pause() {
  if (held_.size() > 0) sampler_->roll_back(held_.size());
  held_for_ = rules_->banned;
  held_version_ = sampler_->version();
}

uint64_t AnswerLoop::room(const Sequence& sequence) const {
  const uint64_t before = sequence.size() - held_.size();
  return std::min<uint64_t>(std::max<uint64_t>(rules_->tokens_left, 1),
                            sequence.context() - before);
}

std::span<const Token> AnswerLoop::forbidden() {
  return bans() ? held_.forbidden(answer_, *rules_) : answer_.forbidden(*rules_);
}

std::span<const Token> AnswerLoop::forced_ahead(WorkWatch* watch) {
  return sampler_->forced_ahead(forbidden(), watch);
}

bool AnswerLoop::force(const Sequence& sequence, WorkWatch* watch) {
  const auto forced = sampler_->forced(forbidden(), watch);
  if (!forced) return false;
  token_ = *forced;
  was_drawn_ = false;
  outcome_ = bans() ? held_.push(token_, false, sequence.size(), room(sequence), *sampler_, answer_,
                                 *rules_)
                    : HeldTokens::Drawn::Taken;
  is_open_ = true;
  return true;
}

void AnswerLoop::draw(std::span<const float> logits, const Sequence& sequence, WorkWatch* watch) {
  check_finite(logits);
  if (!bans()) {
    return take(sampler_->sample(logits, sequence.tokens(), sequence.size(),
                                 answer_.forbidden(*rules_), watch));
  }
  was_drawn_ = true;
  outcome_ =
      held_.draw(logits, sequence.tokens(), room(sequence), *sampler_, answer_, *rules_, watch);
  is_open_ = true;
  if (has_token()) token_ = held_.back().token;
}

bool AnswerLoop::describe_draw(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                               std::vector<tenon_draw_bias>& biases) {
  // With banned texts, a position may need several draws.
  return !bans() &&
         sampler_->describe_draw(draw, biases, sequence.size(), answer_.forbidden(*rules_), vocab);
}

bool AnswerLoop::describe_candidates(const Sequence& sequence, uint64_t vocab, tenon_draw& draw,
                                     std::vector<tenon_draw_bias>& biases) {
  return !bans() && sampler_->describe_candidates(draw, biases, sequence.tokens(),
                                                  answer_.forbidden(*rules_), vocab);
}

bool AnswerLoop::draw_listed(const ListedLogits& listed, const Sequence& sequence,
                             WorkWatch* watch) {
  const auto token = sampler_->sample_listed(listed, sequence.tokens(), sequence.size(),
                                             answer_.forbidden(*rules_), watch);
  if (token) take(*token);
  return token.has_value();
}

void AnswerLoop::take(Token token) {
  token_ = token;
  was_drawn_ = true;
  outcome_ = HeldTokens::Drawn::Taken;
  is_open_ = true;
}

bool AnswerLoop::take_drawn(Token token, WorkWatch* watch) {
  const auto taken = sampler_->take_drawn(token, answer_.forbidden(*rules_), watch);
  if (taken) take(*taken);
  return taken.has_value();
}

void AnswerLoop::take_back() noexcept {
  if (bans()) {
    held_.pop(*sampler_, answer_);
  } else {
    sampler_->roll_back(1);
  }
}

AnswerPiece AnswerLoop::next_piece() {
  if (is_new_) {
    is_new_ = false;
    const AnswerText::Shown shown = answer_.push(token_, *rules_);
    return {token_, shown.finish, shown.text, was_drawn_};
  }
  if (held_.size() == 0) {
    outcome_ = HeldTokens::Drawn::Back;
    return {-1, Finish::Banned, answer_.take_held(), false};
  }
  const HeldTokens::Entry& front = held_.front();
  text_.assign(front.text);
  AnswerPiece piece{front.token, front.finish, text_, front.was_drawn};
  if (piece.finish == Finish::Banned) {
    piece.text = answer_.with_held(text_);
    outcome_ = HeldTokens::Drawn::Back;
  }
  held_.pop_front();
  return piece;
}

AnswerPiece AnswerLoop::take_piece() {
  AnswerPiece piece = next_piece();
  if (rules_->tokens_left == UINT64_MAX || piece.token < 0) return piece;
  if (--rules_->tokens_left > 0) return piece;
  // A used-up limit no longer applies.
  rules_->tokens_left = UINT64_MAX;
  if (piece.finish == Finish::None) {
    piece.finish = Finish::MaxTokens;
    piece.text = answer_.with_held(piece.text);
  }
  return piece;
}

void AnswerLoop::drop_held() noexcept { held_.drop(answer_); }

}  // namespace tenon
