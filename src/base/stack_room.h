// Whether the thread's stack still has room for recursion: what parsers and interpreters ask besides
// their depth limits, which suit stacks of the usual size, so that small ones end in an error as well.
#pragma once

#include <cstdint>

namespace tenon {

/// Of the thread that made it; cheap enough to be made for every call of the library.
class StackRoom {
 public:
  StackRoom() noexcept;
  /// Hardly more is left than an error needs to come out.
  [[nodiscard]] bool is_used_up() const noexcept {
    const char here = 0;
    return reinterpret_cast<uintptr_t>(&here) < lowest_;
  }

 private:
  uintptr_t lowest_;
};

}  // namespace tenon
