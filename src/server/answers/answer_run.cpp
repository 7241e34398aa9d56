#include "server/answers/answer_run.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace tenon_http {
namespace {

/// Answers of a request queued per turn, so that other requests' bytes get between.
constexpr size_t kSubmittedAtOnce = 8;

/// Answers that print more than these bytes print on a worker, within the processor time below.
constexpr size_t kPrintedHereBytes = size_t{64} << 10;
constexpr double kPrintSeconds = 60;

/// Bounds on the notes in an answer.
constexpr size_t kMaxNotes = 100;
constexpr size_t kMaxNoteBytes = size_t{64} << 10;

/// Cuts the list at those bounds and adds a note with the number dropped.
void limit_notes(std::vector<std::string>& notes) {
  size_t bytes = 0;
  for (size_t i = 0; i < notes.size(); ++i) {
    bytes += notes[i].size();
    if (i < kMaxNotes && bytes <= kMaxNoteBytes) continue;
    const size_t left_out = notes.size() - i;
    notes.resize(i);
    notes.push_back(std::to_string(left_out) + " more notes are left out");
    return;
  }
}

/// Unsent bytes beyond which an answer waits for its client, leaving tokens in the engine.
constexpr size_t kMaxUnsentBytes = size_t{256} << 10;

}  // namespace

/// Exchange that records a writer's output until the loop sends it.
class PrintedAnswer : public Exchange {
 public:
  explicit PrintedAnswer(const HttpRequest& request) : request_(request) {}

  [[nodiscard]] const HttpRequest& request() const override { return request_; }
  void answer(HttpAnswer answer) override { whole_ = std::move(answer); }
  void begin_stream(const std::string&) override {}
  void send(std::string bytes) override { parts_.push_back(std::move(bytes)); }
  void end_stream() override { has_ended_ = true; }
  void fail(Failure why) noexcept override { failure_ = why; }
  [[nodiscard]] size_t unsent() const override { return 0; }
  void on_drained(std::shared_ptr<Task>) noexcept override {}

  void fail_with(std::exception_ptr failure) noexcept { exception_ = std::move(failure); }
  /// Replays the record. Rethrows an exception of the printing.
  void write_to(Exchange& exchange) {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
    if (failure_) return exchange.fail(*failure_);
    if (whole_) return exchange.answer(std::move(*whole_));
    for (std::string& part : parts_) exchange.send(std::move(part));
    if (has_ended_) exchange.end_stream();
  }

 private:
  const HttpRequest& request_;
  std::optional<HttpAnswer> whole_;
  std::vector<std::string> parts_;
  bool has_ended_ = false;
  std::optional<Failure> failure_;
  std::exception_ptr exception_;
};

AnswerRun::~AnswerRun() = default;

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
  submit_ = std::make_shared<Task>([weak] {
    if (const auto running = weak.lock()) running->go_on_submitting();
  });
  state_.journal->count_answers(*exchange_->request().record, plan_.choices.size());
  exchange_->request().interest->on_end([weak] {
    if (const auto running = weak.lock()) running->cancel();
  });
  if (self_ != nullptr) submit_some();
}

void AnswerRun::submit_some() {
  const Share share = share_of(exchange_->request());
  for (size_t i = 0; i < kSubmittedAtOnce && generations_.size() < plan_.choices.size(); ++i) {
    generations_.emplace_back(plan_, std::move(plan_.choices[generations_.size()]));
    generations_.back().submit(state_.limits.request_seconds, share, notify, this);
  }
  state_.submitted(*plan_.model);
  if (generations_.size() < plan_.choices.size()) return state_.loop.post(submit_);
  num_running_ = generations_.size();
  exchange_->request().record->notes = std::move(plan_.notes);
  has_begun_ = true;
  writer_->begin(*exchange_);
  state_.loop.post(wake_);  // some answers may already have tokens
}

void AnswerRun::go_on_submitting() noexcept {
  if (self_ == nullptr) return;
  const auto self = shared_from_this();
  try {
    submit_some();
  } catch (...) {
    fail_with(api_error_of_current_exception);
    end();
  }
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
  if (self_ == nullptr || !has_begun_ || printed_ != nullptr) return;
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
  complete();
}

void AnswerRun::complete() {
  if (writer_->bytes_to_print() <= kPrintedHereBytes) {
    writer_->complete(*exchange_);
    return end();
  }
  printed_ = std::make_unique<PrintedAnswer>(exchange_->request());
  const HttpRequest& request = exchange_->request();
  state_.long_tasks.post(share_of(request).name, [self = shared_from_this()] {
    self->print();
    return false;
  });
}

/// Runs on a worker. The loop does not touch the writer until the worker posts back.
void AnswerRun::print() noexcept {
  try {
    const WorkLimit::Use use(*exchange_->request().limit, kPrintSeconds);
    writer_->complete(*printed_);
  } catch (...) {
    printed_->fail_with(std::current_exception());
  }
  const bool is_posted =
      fenced([&] { state_.loop.post([self = shared_from_this()] { self->tell_printed(); }); });
  if (!is_posted) exchange_->request().interest->lose();
}

void AnswerRun::tell_printed() noexcept {
  if (self_ == nullptr) return;
  try {
    printed_->write_to(*exchange_);
  } catch (...) {
    fail_with(api_error_of_current_exception);
  }
  end();
}

void AnswerRun::cancel() noexcept {
  if (self_ == nullptr) return;
  // The printing worker sees the stopped WorkLimit and ends.
  if (printed_ != nullptr && !exchange_->request().interest->is_lost()) return;
  if (!exchange_->request().interest->is_lost()) {
    fail_with([] { return api_error_of(tenon::Error(tenon::Code::Cancelled, "")); });
  }
  end();
}

/// error: may be the exception being handled.
void AnswerRun::fail_with(const std::function<ApiError()>& error) noexcept {
  if (self_ == nullptr) return;
  fenced(
      [&] { has_begun_ ? writer_->fail(*exchange_, error()) : answer_error(*exchange_, error()); },
      [&](Failure why) noexcept { exchange_->fail(why); });
}

void AnswerRun::end() noexcept {
  const auto self = std::move(self_);
  self_ = nullptr;
  if (self == nullptr || generations_.empty()) return;
  const bool all_ended = std::all_of(generations_.begin(), generations_.end(),
                                     [](const Generation& each) { return each.end().has_value(); });
  if (all_ended) return generations_.clear();
  // Let a worker destroy the generations: destruction waits for the running step.
  (void)fenced([&] {
    const auto ended = std::make_shared<std::deque<Generation>>();
    ended->swap(generations_);
    state_.workers.post([self, ended] {
      // Cancel all before destroying any, so that a single step ends them.
      for (Generation& each : *ended) each.cancel();
      ended->clear();
    });
  });
  generations_.clear();
}

Start start_answers(AnswerPlan plan, std::unique_ptr<AnswerWriter> writer, ServerState& state) {
  limit_notes(plan.notes);
  // A Start is copied as a std::function; its content is used once.
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
