// What the operator new of counted_new.h counts, and what makes it fail. For tests only.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::counted_new {

/// Calls that were granted, of all threads.
inline std::atomic<uint64_t> num_allocations{0};
/// The bytes that they asked for.
inline std::atomic<uint64_t> num_bytes{0};
/// Of the calls, those not yet given back.
inline std::atomic<int64_t> num_held{0};
/// Calls on this thread that are still granted; negative: all.
inline thread_local int64_t allocations_left = -1;

}  // namespace tenon::counted_new
