// Limits of control groups (containers, services) on this process, read from the kernel's files.
// Covers both versions and all visible ancestors. Caches nothing.
#pragma once

#include <cstdint>

#include "base/system.h"

namespace tenon {

/// CPUs available to the process: usable CPUs (System::num_usable_cpus, which cpusets narrow),
/// capped by the lowest CPU quota of its groups, rounded down; at least 1. Unreadable files set no
/// limit. On macOS, the performance cores.
uint32_t num_allowed_cpus(System& system) noexcept;

/// Lowest memory limit of its groups, in bytes; UINT64_MAX for none.
uint64_t memory_limit_of_groups(System& system) noexcept;

}  // namespace tenon
