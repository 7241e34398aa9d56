// Session::score: checks of arguments and the deadline.
#include <algorithm>

#include "base/error.h"
#include "engine/call_watch.h"
#include "engine/session.h"
#include "engine/session_use.h"

namespace tenon {

void Session::check_continuation(const Continuation& continuation, size_t index) const {
  const std::span<const Token> tokens = continuation.tokens;
  if (tokens.empty()) fail(Code::Argument, "score: continuation {} has no tokens", index);
  const auto is_outside = [this](Token token) {
    return token < 0 || static_cast<uint64_t>(token) >= vocab();
  };
  const auto outside = std::ranges::find_if(tokens, is_outside);
  if (outside != tokens.end()) {
    fail(Code::Argument, "score: token {} of continuation {} is outside 0..{}", *outside, index,
         vocab() - 1);
  }
  if (tokens.size() > sequence_.context() - sequence_.size()) {
    fail(Code::Limit, "score: continuation {}: tokens {} > context {}", index,
         sequence_.size() + tokens.size(), sequence_.context());
  }
}

void Session::score(std::span<const Continuation> continuations, uint64_t deadline_ns) {
  const Use use(*this);
  if (sequence_.size() == 0) fail(Code::State, "session: there are no tokens yet");
  CallWatch watch(*model().options().system, deadline_ns, nullptr);
  for (size_t i = 0; i < continuations.size(); ++i) {
    watch.look();
    check_continuation(continuations[i], i);
  }
  if (model().options().system->now_ns() >= deadline_ns) {
    fail(Code::Deadline, "score: the deadline passed");
  }
  check_cancelled();
  struct Deadline {
    uint64_t& of_session;
    Deadline(uint64_t& of_call, uint64_t end) : of_session(of_call) { of_session = end; }
    ~Deadline() { of_session = UINT64_MAX; }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
  };
  const Deadline deadline(deadline_ns_, deadline_ns);
  require_logits();
  BatchItem call;
  call.cancel = control_->cancel.word();
  call.control = control_.get();
  call.priority = options_.priority;
  call.client = options_.client;
  call.weight = options_.weight;
  call.deadline_ns = deadline_ns;
  try {
    ContinuationScorer scorer(*engine_, control_->idle, call, continuations);
    stats_.prefill_tokens += scorer.run({logits_row(), vocab()});
  } catch (const Error& error) {
    engine_->release_unused();
    if (error.code() == Code::Cancelled) check_cancelled();
    throw;
  }
  engine_->release_unused();
}

}  // namespace tenon
