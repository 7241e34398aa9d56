#include "session_handle.h"

#include "base/error.h"

tenon::Sampler& tenon_session::default_sampler() {
  if (!own_sampler) own_sampler.emplace(session->model().options().system);
  return *own_sampler;
}

namespace tenon::capi {

using Use = tenon_session::Use;

SessionCall::SessionCall(tenon_session* handle) : session_(&checked(handle)) {
  Use expected = Use::Idle;
  if (!session_->use.compare_exchange_strong(expected, Use::Busy)) {
    fail(Code::State,
         "the session is in use by another call; only cancel and destroy may interrupt");
  }
  if (session_->session->in_use()) {
    release();
    fail(Code::State, "the session is in use by a request; only cancel and destroy may interrupt");
  }
}

SessionCall::~SessionCall() { release(); }

void SessionCall::release() noexcept {
  Use expected = Use::Busy;
  // Another process: a callback has forked, and this is the child.
  if (!session_->use.compare_exchange_strong(expected, Use::Idle)) delete live_or_null(session_);
}

void destroy_session(tenon_session* session) noexcept {
  Use expected = Use::Busy;
  if (session->use.compare_exchange_strong(expected, Use::Doomed)) return;
  if (expected == Use::Idle) delete session;
}

}  // namespace tenon::capi
