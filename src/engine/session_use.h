// Guard for each call on a session.
#pragma once

#include "base/error.h"
#include "engine/session.h"

namespace tenon {

/// Marks the session as in use for its own lifetime.
class Session::Use {
 public:
  enum class Held { Drop, Keep };  // tokens drawn ahead
  explicit Use(Session& session, Held held = Held::Drop) : session_(session) {
    if (session_.control_->in_use.exchange(true, std::memory_order_acquire)) {
      fail(Code::State, "session: in use by another thread, or by the call that called back");
    }
    if (held == Held::Drop) session.drop_held();
  }
  ~Use() {
    if (!kept_) session_.control_->in_use.store(false, std::memory_order_release);
  }
  /// Leaves the session in use; its generation ends the use.
  void keep() { kept_ = true; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Session& session_;
  bool kept_ = false;
};

}  // namespace tenon
