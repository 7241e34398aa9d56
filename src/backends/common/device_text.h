// Filling the structures by which a backend describes its devices and options.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tenon/backend.h"

namespace tenon::backends {

/// Copies as much of `text` as fits, and a NUL.
template <size_t kSize>
void copy_text(char (&to)[kSize], std::string_view text) noexcept {
  const size_t length = std::min(kSize - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

/// Writes an info into the `size` bytes that the host has for it: as much as both sides know.
inline void write_info(tenon_device_info info, tenon_device_info* to, uint32_t size) noexcept {
  info.struct_size = std::min<uint32_t>(size, sizeof(info));
  std::memcpy(to, &info, info.struct_size);
}

/// list_options over a table of them.
template <size_t kCount>
void write_options(const tenon_backend_option_info (&options)[kCount],
                   tenon_backend_option_info* infos, uint32_t info_size, uint32_t capacity,
                   uint32_t* count) noexcept {
  if (count == nullptr || (infos == nullptr && capacity > 0)) return;
  auto* to = reinterpret_cast<std::byte*>(infos);
  for (uint32_t i = 0; i < std::min<uint32_t>(capacity, kCount); ++i) {
    std::memcpy(to + size_t{i} * info_size, &options[i],
                std::min<size_t>(info_size, sizeof(options[i])));
  }
  *count = kCount;
}

}  // namespace tenon::backends
