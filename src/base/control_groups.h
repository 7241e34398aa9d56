// Limits that control groups (of a container, a service) put on this process, from the files of the
// kernel: both versions, each group up to the root that is seen. Nothing is cached here.
#pragma once

#include <cstdint>

#include "base/system.h"

namespace tenon {

/// CPUs that the process may use: those it may run on (System::num_usable_cpus, which cpusets
/// narrow), and no more than the least quota of processor time of its groups pays for, fractions
/// rounded down; at least 1. What cannot be read is no limit.
uint32_t num_allowed_cpus(System& system) noexcept;

/// The least limit of memory of its groups, in bytes; UINT64_MAX where there is none.
uint64_t memory_limit_of_groups(System& system) noexcept;

}  // namespace tenon
