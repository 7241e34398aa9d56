// A host for a backend on a queue's thread: jobs run on the calling thread only, because the host's
// threads may not be used there, and sentences stay with the job.
#pragma once

#include "tenon/backend.h"

namespace tenon::delayed {

/// Must outlive the objects made with its table. The real host outlives it.
class DelayedHost {
 public:
  explicit DelayedHost(const tenon_host* real);
  DelayedHost(const DelayedHost&) = delete;
  DelayedHost& operator=(const DelayedHost&) = delete;

  [[nodiscard]] const tenon_host* table() const { return &table_; }
  [[nodiscard]] const tenon_host* real() const { return real_; }

 private:
  const tenon_host* real_;
  tenon_host table_;
};

}  // namespace tenon::delayed
