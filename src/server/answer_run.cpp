#include "answer_run.h"

#include <utility>

namespace tenon_http {
namespace {

/// A client that takes nothing makes an answer wait, in the engine's tokens, beyond so many bytes.
constexpr size_t kMaxUnsentBytes = size_t{256} << 10;

}  // namespace

AnswerRun::AnswerRun(AnswerPlan plan, std::shared_ptr<Exchange> exchange,
                     std::unique_ptr<AnswerWriter> writer, ServerState& state)
    : exchange_(std::move(exchange)),
      plan_(std::move(plan)),
      writer_(std::move(writer)),
      state_(state) {}

void AnswerRun::start() {
  self_ = shared_from_this();
  try {
    begin();
  } catch (...) {
    end();
    throw;
  }
}

void AnswerRun::begin() {
  const std::weak_ptr<AnswerRun> weak = weak_from_this();
  wake_ = std::make_shared<Task>([weak] {
    if (const auto running = weak.lock()) running->pump();
  });
  const RequestRecord& record = *exchange_->request().record;
  for (ChoicePlan& choice : plan_.choices) {
    generations_.emplace_back(plan_, std::move(choice));
    generations_.back().submit(state_.limits.request_seconds, record.client, notify, this);
  }
  num_running_ = generations_.size();
  exchange_->request().record->notes = std::move(plan_.notes);
  writer_->begin(*exchange_);
  exchange_->request().interest->on_end([weak] {
    if (const auto running = weak.lock()) running->cancel();
  });
  state_.submitted(*plan_.model);
}

void AnswerRun::notify(void* user) {
  auto& run = *static_cast<AnswerRun*>(user);
  run.state_.loop.post(run.wake_);
}

void AnswerRun::note_progress() {
  RequestRecord& record = *exchange_->request().record;
  record.prompt_tokens = generations_.empty() ? 0 : generations_.front().prompt_tokens();
  record.cached_tokens = generations_.empty() ? 0 : generations_.front().cached_tokens();
  record.generated_tokens = 0;
  for (const Generation& each : generations_) record.generated_tokens += each.num_drawn();
  if (record.generated_tokens > 0 && !record.first_token) {
    record.first_token = RequestRecord::Clock::now();
  }
}

void AnswerRun::pump() noexcept {
  const auto self = shared_from_this();
  try {
    advance();
  } catch (...) {
    fail_with(api_error_of_current_exception);
    end();
  }
}

void AnswerRun::advance() {
  for (size_t i = 0; i < generations_.size(); ++i) {
    while (i < generations_.size() && !generations_[i].end()) {
      if (exchange_->unsent() > kMaxUnsentBytes) return exchange_->on_drained(wake_);
      const bool advanced = generations_[i].advance(
          [&](AnswerDelta delta) { writer_->delta(*exchange_, i, std::move(delta)); });
      if (!advanced) break;
      if (!generations_.empty()) note_progress();
      if (!generations_[i].end()) continue;
      writer_->end(*exchange_, i, *generations_[i].end());
      --num_running_;
    }
  }
  if (self_ == nullptr || num_running_ > 0) return;
  writer_->complete(*exchange_);
  end();
}

void AnswerRun::cancel() noexcept {
  if (self_ == nullptr) return;
  if (!exchange_->request().interest->is_lost()) {
    fail_with([] { return api_error_of(tenon::Error(tenon::Code::Cancelled, "")); });
  }
  end();
}

/// error: may be the exception being handled.
void AnswerRun::fail_with(const std::function<ApiError()>& error) noexcept {
  if (self_ == nullptr) return;
  fenced([&] { writer_->fail(*exchange_, error()); },
         [&](Failure why) noexcept { exchange_->fail(why); });
}

void AnswerRun::end() noexcept {
  const auto self = std::move(self_);
  self_ = nullptr;
  generations_.clear();
}

Start start_answers(AnswerPlan plan, std::unique_ptr<AnswerWriter> writer, ServerState& state) {
  // A Start is copied as a std::function is; what it holds is used once.
  struct Held {
    AnswerPlan plan;
    std::unique_ptr<AnswerWriter> writer;
  };
  auto held = std::make_shared<Held>(Held{std::move(plan), std::move(writer)});
  return [held, &state](const std::shared_ptr<Exchange>& exchange) {
    if (exchange->request().interest->is_lost()) return;
    std::make_shared<AnswerRun>(std::move(held->plan), exchange, std::move(held->writer), state)
        ->start();
  };
}

}  // namespace tenon_http
