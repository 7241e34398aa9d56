#include "server/answers/generation.h"

#include <algorithm>

#include "server/api_error.h"

namespace tenon_http {

Generation::Generation(const AnswerPlan& plan, ChoicePlan choice)
    : plan_(plan), choice_(std::move(choice)) {}

void Generation::submit(double timeout_seconds, const Share& share, tenon_notify_callback notify,
                        void* user) {
  session_.emplace(plan_.model->open_session(share));
  request_.emplace(tenon::submit(*session_, {.tokens = *choice_.prompt,
                                             .ignore_end = plan_.ignore_end,
                                             .logprobs = plan_.logprobs,
                                             .num_top = plan_.num_top,
                                             .sampler = &choice_.sampler,
                                             .max_tokens = choice_.max_tokens,
                                             .timeout_seconds = timeout_seconds,
                                             .priority = plan_.priority,
                                             .client = std::string_view(share.name),
                                             .weight = share.weight,
                                             .notify = notify,
                                             .user = user,
                                             .prediction = plan_.prediction,
                                             .speculation = plan_.speculation,
                                             .draft_max = plan_.draft_max}));
}

void Generation::cancel() noexcept {
  if (request_) request_->cancel();
}

bool Generation::advance(const OnDelta& on_delta) {
  if (end_) return false;
  const tenon::Piece piece = poll();
  if (piece.token == TENON_NO_TOKEN && piece.text.empty() && piece.finish == TENON_FINISH_NONE) {
    return false;
  }
  if (num_drawn_ == 0) note_reuse();
  if (piece.token != TENON_NO_TOKEN) note_token(piece);
  const auto& stops = plan_.stop_tokens;
  if (piece.token != TENON_NO_TOKEN &&
      std::find(stops.begin(), stops.end(), piece.token) != stops.end()) {
    is_stopped_by_token_ = true;
    if (!tokens_.empty() && tokens_.back().id == piece.token) tokens_.pop_back();
    finish(TENON_FINISH_END, on_delta);
    return true;
  }
  read(piece, on_delta);
  const bool is_cut = choice_.cut_after != 0 && num_drawn_ >= choice_.cut_after;
  if (piece.finish != TENON_FINISH_NONE) {
    finish(piece.finish, on_delta);
  } else if (is_cut) {
    finish(TENON_FINISH_MAX_TOKENS, on_delta);
  }
  return true;
}

tenon::Piece Generation::poll() {
  try {
    return request_->poll();
  } catch (const tenon::Error& error) {
    // Only bans can mask the last token that a grammar or the end of the context leaves.
    const bool all_masked = error.code() == tenon::Code::State &&
                            std::string_view(error.what()).find("masked") != std::string_view::npos;
    if (!all_masked || !plan_.bans_tokens) throw;
    throw invalid_request("logit_bias: bans every token that may come here: none is left",
                          "logit_bias");
  }
}

void Generation::note_reuse() {
  const tenon_request_stats stats = request_->stats();
  cached_tokens_ = stats.reused_tokens;
  reuse_ = {stats.prompt_tokens, stats.reused_tokens, stats.miss_position, stats.reuse_miss,
            choice_.repaired_turns};
}

void Generation::note_token(const tenon::Piece& piece) {
  ++num_drawn_;
  if (!plan_.stops.empty() || choice_.echo) drawn_.push_back(piece.token);
  // An end token is not part of the answer.
  if (!plan_.logprobs || piece.finish == TENON_FINISH_END) return;
  DrawnToken token{.text = {}, .id = piece.token};
  token.text = plan_.model->tokenizer().decode({&piece.token, 1}, true);
  std::vector<tenon::Token> top(plan_.num_top);
  std::vector<float> logprobs(plan_.num_top);
  token.logprob = request_->logprobs(top, logprobs);
  for (size_t i = 0; i < top.size(); ++i) token.top.emplace_back(top[i], logprobs[i]);
  tokens_.push_back(std::move(token));
}

void Generation::read(const tenon::Piece& piece, const OnDelta& on_delta) {
  if (!choice_.reply) {
    if (!piece.text.empty()) hand_out({.text = piece.text}, on_delta);
    return;
  }
  const auto forward = [&](const tenon::ChatDelta& delta) {
    hand_out({.kind = delta.kind, .call = delta.call, .text = delta.text, .id = delta.id},
             on_delta);
  };
  tenon::ChatReply& reply = *choice_.reply;
  if (plan_.stops.empty()) {
    if (piece.token != TENON_NO_TOKEN) reply.push(piece.token, forward);
  } else {
    // Decide by the token's text: control tokens have none, and the engine holds back text that may
    // become a stop.
    const bool is_mark =
        piece.token != TENON_NO_TOKEN && plan_.model->tokenizer().is_control(piece.token);
    if (is_mark) reply.push(piece.token, forward);
    if (!piece.text.empty()) reply.push(piece.text, forward);
  }
  if (reasons_) reasoning_tokens_ = num_drawn_;
}

void Generation::hand_out(AnswerDelta delta, const OnDelta& on_delta) {
  cut_calls_.add(delta);
  reasons_ = delta.kind == TENON_CHAT_REASONING;
  delta.prompt_tokens = choice_.prompt->size();
  delta.cached_tokens = cached_tokens_;
  delta.tokens = std::move(tokens_);
  tokens_.clear();
  on_delta(std::move(delta));
}

void Generation::finish(int32_t how, const OnDelta& on_delta) {
  AnswerEnd end;
  end.finish = how == TENON_FINISH_MAX_TOKENS ? Finish::Length
               : how == TENON_FINISH_STOP     ? Finish::StopText
                                              : Finish::End;
  if (end.finish == Finish::StopText) {
    end.stop_text = stop_text_found();
    tokens_.clear();  // those of the stop text
  }
  if (choice_.reply) {
    choice_.reply->finish([&](const tenon::ChatDelta& delta) {
      hand_out({.kind = delta.kind, .call = delta.call, .text = delta.text, .id = delta.id},
               on_delta);
    });
    end.message = choice_.reply->message();
  }
  // A cut answer does not end a turn of the conversation.
  const bool is_turn = how == TENON_FINISH_END && !is_stopped_by_token_;
  if (is_turn && choice_.echo && choice_.reply) {
    choice_.echo->remember(*choice_.prompt, drawn_, end.message);
  }
  if (choice_.reply) end.message = cut_calls_.as_streamed(std::move(end.message));
  end.reuse = reuse_;
  end.prompt_tokens = choice_.prompt->size();
  end.cached_tokens = cached_tokens_;
  end.generated_tokens = num_drawn_;
  end.reasoning_tokens = reasoning_tokens_;
  if (!plan_.prediction.empty()) {
    end.accepted_prediction_tokens = request_->stats().predicted_tokens;
    end.rejected_prediction_tokens =
        plan_.prediction.size() -
        std::min<uint64_t>(plan_.prediction.size(), end.accepted_prediction_tokens);
  }
  end.tokens = std::move(tokens_);
  end_ = std::move(end);
  request_.reset();
  session_.reset();
}

std::string Generation::stop_text_found() const {
  const std::string text = plan_.model->tokenizer().decode(drawn_);
  std::string found;
  size_t first = text.npos;
  for (const std::string& stop : plan_.stops) {
    const size_t at = text.find(stop);
    if (at < first || (at == first && at != text.npos && stop.size() > found.size())) {
      first = at;
      found = stop;
    }
  }
  return found;
}

}  // namespace tenon_http
