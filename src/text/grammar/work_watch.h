// Looks at work under way, so that a host can end it. Budgets of work call it.
#pragma once

namespace tenon {

/// Called on the thread that does the work: about every 0.2 ms of a draw, every millisecond of a
/// compilation.
class WorkWatch {
 public:
  virtual ~WorkWatch() = default;
  /// Throws to end the work.
  virtual void look() = 0;
};

}  // namespace tenon
