// A system that reserves address space without memory, for measuring sizes; and the process's
// resident memory.
#pragma once

#include <cstdint>
#include <memory>

#include "base/system.h"

namespace tenon {

/// System::real() with a map_pages that grants more than the machine's memory. Pages cost memory
/// only once touched.
std::shared_ptr<System> reserving_system();

/// Resident memory of this process in bytes; 0 if the system does not tell.
uint64_t resident_memory() noexcept;

}  // namespace tenon
