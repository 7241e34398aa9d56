// Deadline and cancel flag of a host's call, for long work outside steps.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/system.h"
#include "engine/request.h"

namespace tenon {

/// Not thread-safe.
class CallWatch {
 public:
  /// deadline_ns: on the system's clock; UINT64_MAX means none. cancel: may be null.
  CallWatch(System& system, uint64_t deadline_ns, const uint32_t* cancel)
      : system_(system), deadline_ns_(deadline_ns), cancel_(cancel) {}

  /// Call for each item of a long list. Throws Deadline or Cancelled.
  void look() {
    if (++num_looks_ % kBetweenClocks != 0) return;
    if (is_set(cancel_)) fail(Code::Cancelled, "cancelled");
    if (deadline_ns_ != UINT64_MAX && system_.now_ns() >= deadline_ns_) {
      fail(Code::Deadline, "score: the deadline passed");
    }
  }

 private:
  static constexpr uint32_t kBetweenClocks = 1024;

  System& system_;
  uint64_t deadline_ns_;
  const uint32_t* cancel_;
  uint32_t num_looks_ = 0;
};

}  // namespace tenon
