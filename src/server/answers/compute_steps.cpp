#include "server/answers/compute_steps.h"

#include <exception>
#include <memory>
#include <utility>

namespace tenon_http {
namespace {

/// Computes on the lanes of long tasks, answers on the loop.
class SteppedAnswer : public std::enable_shared_from_this<SteppedAnswer> {
 public:
  SteppedAnswer(AnswerStep step, std::shared_ptr<Exchange> exchange, ServerState& state)
      : exchange_(std::move(exchange)), step_(std::move(step)), state_(state) {}

  void begin() {
    state_.long_tasks.post(share_of(exchange_->request()).name,
                           [self = shared_from_this()] { return self->compute(); });
  }

 private:
  /// Runs a step; true if work is left.
  bool compute() {
    const HttpRequest& request = exchange_->request();
    if (request.interest->is_lost()) return false;
    try {
      const WorkLimit::Use use(*request.limit, kWorkSeconds);
      std::optional<HttpAnswer> answer = step_();
      if (!answer) return true;
      answer_ = std::move(*answer);
    } catch (...) {
      failure_ = std::current_exception();
    }
    step_ = nullptr;
    state_.loop.post({shared_from_this(), &tell_});
    return false;
  }

  void tell() noexcept {
    try {
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      exchange_->answer(std::move(answer_));
    } catch (...) {
      answer_current_exception(*exchange_);
    }
  }

  std::shared_ptr<Exchange> exchange_;  // first member: its record keeps the model alive
  AnswerStep step_;
  ServerState& state_;
  HttpAnswer answer_;
  std::exception_ptr failure_;
  Task tell_{[this] { tell(); }};
};

}  // namespace

Start compute_in_steps(AnswerStep step, ServerState& state) {
  auto held = std::make_shared<AnswerStep>(std::move(step));
  return [held, &state](const std::shared_ptr<Exchange>& exchange) {
    std::make_shared<SteppedAnswer>(std::move(*held), exchange, state)->begin();
  };
}

}  // namespace tenon_http
