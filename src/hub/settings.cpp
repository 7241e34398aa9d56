#include "hub/settings.h"

#include <algorithm>
#include <ctime>

#include "base/error.h"

namespace tenon::hub {

void Watch::check(bool at_once) {
  const double time = now();
  bool ends = is_cancelled_->load(std::memory_order_relaxed);
  if (!ends && report_ && (at_once || time - reported_ >= 0.1)) {
    reported_ = time;
    ends = report_(progress);
  }
  if (ends) fail(Code::Cancelled, "cancelled; what has arrived is kept");
}

void Watch::sleep(double seconds) {
  const double until = now() + seconds;
  for (double left = seconds; left > 0; left = until - now()) {
    check();
    const double step = std::min(left, kCheckSeconds);
    const timespec pause{0, static_cast<long>(step * 1e9)};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace tenon::hub
