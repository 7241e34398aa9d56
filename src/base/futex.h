// Sleep on a word of memory until another thread changes it. Takes the place of std::atomic's wait,
// which loses wake-ups in libstdc++ 12 on systems other than Linux.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

inline constexpr uint64_t kFutexForever = UINT64_MAX;

/// Sleeps while `word` is `seen`, until a wake, at most `timeout_ns`; may return early. Returns at
/// once if `word` has another value.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t seen,
                uint64_t timeout_ns = kFutexForever) noexcept;

/// Wakes all threads that sleep on `word`, which may be gone: only its address is used.
/// Async-signal-safe on Linux and macOS.
void futex_wake_all(const std::atomic<uint32_t>& word) noexcept;

}  // namespace tenon
