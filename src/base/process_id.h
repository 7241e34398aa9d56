// Identity of the process: its id, to tell a forked child from its parent, and its user.
#pragma once

#include <cstdint>

namespace tenon {

/// Id of the calling process. Async-signal-safe on Linux.
int process_id() noexcept;

/// Id of the user whose rights the process has, as in FileStat::owner.
uint32_t effective_user() noexcept;

}  // namespace tenon
