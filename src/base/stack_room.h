// Remaining stack of a thread. Recursive parsers and interpreters check it besides their depth
// limits, so that small stacks give an error, too.
#pragma once

#include <cstdint>

namespace tenon {

/// Stack of the thread that creates the object; cheap enough to create for each library call.
class StackRoom {
 public:
  StackRoom() noexcept;
  /// True if the rest of the stack hardly suffices to unwind an error.
  [[nodiscard]] bool is_used_up() const noexcept {
    const char here = 0;
    return reinterpret_cast<uintptr_t>(&here) < lowest_;
  }

 private:
  uintptr_t lowest_;
};

}  // namespace tenon
