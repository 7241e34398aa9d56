// Identity of the process, to tell a forked child from its parent.
#pragma once

namespace tenon {

/// Id of the calling process. Async-signal-safe.
int process_id() noexcept;

}  // namespace tenon
