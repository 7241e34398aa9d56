#include "session_handle.h"

#include "base/error.h"

tenon::Sampler& tenon_session::default_sampler() {
  if (!own_sampler) own_sampler.emplace(session->model().options().system);
  return *own_sampler;
}

namespace tenon::capi {

SessionCall::SessionCall(tenon_session* handle) : session_(&checked(handle)) {
  if (session_->is_busy.exchange(true)) {
    fail(Code::State,
         "the session is in use by another call; only cancel and destroy may interrupt");
  }
  if (session_->session->in_use()) {
    session_->is_busy = false;
    fail(Code::State, "the session is in use by a request; only cancel and destroy may interrupt");
  }
}

SessionCall::~SessionCall() { session_->is_busy = false; }

}  // namespace tenon::capi
