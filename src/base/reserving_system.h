// The operating system for finding out sizes, and the memory of this process. What is allocated
// through the first is address space until it is touched.
#pragma once

#include <cstdint>
#include <memory>

#include "base/system.h"

namespace tenon {

/// System::real(), but for map_pages, which grants more than the machine has.
std::shared_ptr<System> reserving_system();

/// Bytes of memory that this process holds now; 0 where the system does not tell.
uint64_t resident_memory() noexcept;

}  // namespace tenon
