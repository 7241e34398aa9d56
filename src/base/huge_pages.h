// Memory of the standard containers on huge pages: a fault for each 4 KiB of a long text takes as
// long as tokenizing what the page holds.
#pragma once

#include <cstddef>
#include <string>

#include "base/system.h"

namespace tenon {

/// Asks for huge pages under memory that is not touched yet. A refusal costs speed only. Nothing
/// for memory of less than 4 MiB.
void ask_for_huge_pages(System& system, void* data, size_t size_bytes);

/// An empty string with room for `size_bytes`.
std::string string_with_room(System& system, size_t size_bytes);

}  // namespace tenon
