// Fills the text fields of device descriptions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace tenon::backends {

/// Copies as much of `text` as fits, and terminates it.
template <size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) noexcept {
  const size_t length = std::min(kSize - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace tenon::backends
