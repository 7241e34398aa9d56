// A futex by locks and condition variables, for a macOS without os_sync_wait_on_address (before
// 14.4). Declarations are those of base/futex.h. Needs POSIX alone, so that Linux can test it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon {

/// As futex_wait, but sleeps a few hundredths of a second at most: signals are blocked meanwhile,
/// so that a handler may wake.
void condition_wait(const std::atomic<uint32_t>& word, uint32_t seen, uint64_t timeout_ns) noexcept;

/// As futex_wake_all. Async-signal-safe.
void condition_wake_all(const std::atomic<uint32_t>& word) noexcept;

}  // namespace tenon
