// Memory in proportion to a text, which costs a page as much for a long one as for a short one.
#pragma once

#include <cstddef>
#include <string>

namespace tenon {

/// A fault for each 4 KiB takes as long as tokenizing what the page holds; huge pages take few.
/// Nothing for memory that is not large.
void ask_for_huge_pages(void* data, size_t size_bytes);

/// An empty string with room for `size_bytes`.
std::string string_with_room(size_t size_bytes);

}  // namespace tenon
