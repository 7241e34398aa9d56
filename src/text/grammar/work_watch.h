// Callback during long work, so that a host can end it. Work budgets call it.
#pragma once

namespace tenon {

/// Called on the working thread: about every 0.2 ms of a draw, and every millisecond of a
/// compilation.
class WorkWatch {
 public:
  virtual ~WorkWatch() = default;
  /// Throws to end the work.
  virtual void look() = 0;
};

}  // namespace tenon
