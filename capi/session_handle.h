// The object behind a session handle: a session of the engine, and the rule that one call at a time uses it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "engine/session.h"
#include "handle.h"
#include "host.h"
#include "option_set.h"
#include "sampler/sampler.h"

struct tenon_session : tenon::capi::Handle<tenon_session> {
  static constexpr auto kMagic = tenon::capi::Magic::Session;
  static constexpr const char* kName = "session";

  tenon_session(std::shared_ptr<tenon::capi::Host> of_model,
                std::unique_ptr<tenon::Session> of_engine)
      : host(std::move(of_model)), session(std::move(of_engine)) {}

  /// A sampler with the defaults, for callers who bring none.
  tenon::Sampler& default_sampler();

  std::shared_ptr<tenon::capi::Host> host;  ///< first: outlives what uses its callbacks
  std::unique_ptr<tenon::Session> session;
  std::optional<tenon::Sampler> own_sampler;
  size_t dropped_turns = 0;  ///< turns left out of the latest answer's prompt
  std::string message;       ///< message returned by tenon_chat_answer

  std::atomic<bool> is_busy{
      false};  ///< a call is under way that cancel and destroy alone may interrupt
};

namespace tenon::capi {

/// A call on a session. While it lives, a second one is refused.
class SessionCall {
 public:
  /// Throws Argument for a bad handle, State when another call is under way.
  explicit SessionCall(tenon_session* handle);
  ~SessionCall();
  SessionCall(const SessionCall&) = delete;
  SessionCall& operator=(const SessionCall&) = delete;

  tenon_session* operator->() const { return session_; }
  tenon_session& operator*() const { return *session_; }

 private:
  tenon_session* session_;
};

}  // namespace tenon::capi
