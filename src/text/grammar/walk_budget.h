// Limits on a question to a matcher: counts work, so that a walk ends at the same point on every
// machine; the host may end it earlier. Compiling has its own budget (budget.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/error.h"
#include "text/grammar/work_watch.h"

namespace tenon::grammar {

class WalkBudget {
 public:
  /// A unit is about one byte of a token looked up; the maximum takes 10 to 38 ms
  /// (tests/text/grammar/walk_limits_test.cpp).
  static constexpr uint64_t kMaxWork = 3'000'000;

  /// Begins a question. watch: may be null; outlives the question.
  void begin(WorkWatch* watch) {
    work_ = 0;
    watch_ = watch;
    next_look_ = watch != nullptr ? kBetweenLooks : kMaxWork;
  }
  /// Throws Error(Limit) beyond kMaxWork, and what the watch throws. Unlimited before the first
  /// begin().
  void spend(uint64_t work) {
    work_ += work;
    if (work_ > next_look_) look();
  }
  /// Work since begin().
  [[nodiscard]] uint64_t work() const { return work_; }

 private:
  static constexpr uint64_t kBetweenLooks = 20'000;

  void look() {
    if (next_look_ == UINT64_MAX) return;
    if (work_ > kMaxWork) {
      fail(Code::Limit,
           "grammar: a mask takes more than {} steps: too many ways to read the text are open",
           kMaxWork);
    }
    next_look_ = std::min(work_ + kBetweenLooks, kMaxWork);
    if (watch_ != nullptr) watch_->look();
  }

  uint64_t work_ = 0;
  uint64_t next_look_ = UINT64_MAX;
  WorkWatch* watch_ = nullptr;
};

}  // namespace tenon::grammar
