// Remaining stack of a thread. Recursive parsers and interpreters check it besides their depth
// limits, so that small stacks give an error, too.
#pragma once

#include <cstdint>

#include "base/sanitized.h"

namespace tenon {

/// Stack of the thread that creates the object; cheap enough to create for each library call.
class StackRoom {
 public:
  StackRoom() noexcept {
    const char mark = 0;
    lowest_ = lowest_address(reinterpret_cast<uintptr_t>(&mark));
  }
  /// True if the rest of the stack hardly suffices to unwind an error.
  [[nodiscard]] bool is_used_up() const noexcept {
    const char here = 0;
    return reinterpret_cast<uintptr_t>(&here) < lowest_;
  }

 private:
  // Covers the steps between two checks, and the unwinder, which takes some KB.
#if TENON_ADDRESS_SANITIZED
  static constexpr uintptr_t kReserve = uintptr_t{192}
                                        << 10;  // its frames are several times as large
#else
  static constexpr uintptr_t kReserve = uintptr_t{48} << 10;
#endif
  /// Room below the caller if the stack's size is unknown.
  static constexpr uintptr_t kAssumed = uintptr_t{64} << 10;

  /// Lowest address that the calling thread may use; `here` is in its frame.
  static uintptr_t lowest_address(uintptr_t here) noexcept;

  uintptr_t lowest_;
};

}  // namespace tenon
