// Huge pages for standard containers: page faults per 4 KiB of a long text take as long as
// tokenizing it.
#pragma once

#include <cstddef>
#include <string>

#include "base/system.h"

namespace tenon {

/// Asks for huge pages for untouched memory. A refusal costs speed only. Ignores memory below 4
/// MiB.
void ask_for_huge_pages(System& system, void* data, size_t size_bytes);

/// Returns an empty string with a capacity of `size_bytes`.
std::string string_with_room(System& system, size_t size_bytes);

}  // namespace tenon
