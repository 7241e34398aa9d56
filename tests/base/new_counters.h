// Counters and failure settings of counted_new.h's operator new. For tests only.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::counted_new {

/// Granted calls on all threads that are not exempt.
inline std::atomic<uint64_t> num_allocations{0};
/// Bytes of the granted calls.
inline std::atomic<uint64_t> num_bytes{0};
/// Granted calls that are not yet freed.
inline std::atomic<int64_t> num_held{0};
/// Further calls to grant on this thread; negative means all.
inline thread_local int64_t allocations_left = -1;

/// Refusals on all threads that are not exempt: grants `calls_before_refusal` calls, then refuses
/// `refusals`. Set both before is_armed.
inline std::atomic<int64_t> calls_before_refusal{0};
inline std::atomic<int64_t> refusals{0};
inline std::atomic<bool> is_armed{false};
/// Exempt thread: its calls are neither refused nor counted.
inline thread_local bool is_exempt = false;

}  // namespace tenon::counted_new
