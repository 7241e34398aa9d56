// Watches the draws of a step: ends cancelled and expired draws and defers long ones, so that a
// step waits for at most one long draw.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "base/system.h"
#include "engine/request.h"
#include "text/grammar/walk_budget.h"

namespace tenon {

/// Counts the long draws that a step still allows.
struct LongDraws {
  std::atomic<int32_t> num_left{0};
  static constexpr int32_t kInAStep = 1;
};

/// Watches one draw, on the thread that draws.
class DrawWatch : public WorkWatch {
 public:
  /// Thrown to defer a draw to a later step. Its partial results are kept.
  struct PutOff {};

  ///   stop  flag of the step, set if another request needs the step to end
  DrawWatch(const Request& request, LongDraws& others, System& system, const uint32_t* stop)
      : request_(request), others_(others), system_(system), stop_(stop) {}

  void look() override {
    if (is_set(request_.cancel)) fail(Code::Cancelled, "cancelled");
    if (request_.deadline_ns != UINT64_MAX && system_.now_ns() >= request_.deadline_ns) {
      fail(Code::Deadline, "the deadline of the request passed");
    }
    if (++num_looks_ < kShortLooks) return;
    if (!may_be_long_) may_be_long_ = others_.num_left.fetch_sub(1) > 0;
    if (!may_be_long_ || is_set(stop_)) throw PutOff{};
  }

 private:
  /// About 1 ms, like other samplers on a large vocabulary.
  static constexpr uint32_t kShortLooks = 8;

  const Request& request_;
  LongDraws& others_;
  System& system_;
  const uint32_t* stop_;
  uint32_t num_looks_ = 0;
  bool may_be_long_ = false;
};

}  // namespace tenon
