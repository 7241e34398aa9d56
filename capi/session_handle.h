// Object behind a session handle: a session of the engine, limited to one call at a time.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  /// Sampler with default options, for callers without one.
  tenon::Sampler& default_sampler();

  std::shared_ptr<tenon::capi::Host> host;  ///< first member: outlives all users of its callbacks
  std::unique_ptr<tenon::Session> session;
  std::optional<tenon::Sampler> own_sampler;
  std::vector<tenon::Token> shown_tokens;  ///< of tenon_session_tokens, in a text with pictures
  size_t dropped_turns = 0;                ///< turns dropped from the latest answer's prompt
  std::string message;                     ///< message returned by tenon_chat_answer

  /// True while a call runs that only cancel and destroy may interrupt.
  std::atomic<bool> is_busy{false};
};

namespace tenon::capi {

/// Marks a call on a session as running; a second call is refused meanwhile.
class SessionCall {
 public:
  /// Throws Argument for a bad handle, State if another call is running.
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
