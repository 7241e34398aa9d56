// What the operator new of counted_new.h counts, and what makes it fail. For tests only.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::counted_new {

/// Granted calls of all threads that are not exempt.
inline std::atomic<uint64_t> num_allocations{0};
/// The bytes that they asked for.
inline std::atomic<uint64_t> num_bytes{0};
/// Of the calls, those not yet given back.
inline std::atomic<int64_t> num_held{0};
/// Calls on this thread that are still granted; negative: all.
inline thread_local int64_t allocations_left = -1;

/// Refusals on all threads that are not exempt: `calls_before_refusal` calls are granted, and the
/// next `refusals` calls refused. Set both before is_armed.
inline std::atomic<int64_t> calls_before_refusal{0};
inline std::atomic<int64_t> refusals{0};
inline std::atomic<bool> is_armed{false};
/// Exempt thread: its calls are neither refused nor counted.
inline thread_local bool is_exempt = false;

}  // namespace tenon::counted_new
