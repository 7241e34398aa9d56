// Options of a GPU backend's device.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi/failure.h"
#include "tenon/backend.h"

namespace tenon::gpu {

inline constexpr tenon_backend_option_info kDeviceOptions[] = {
    {"memory_limit", "a whole number of bytes from 1, or 0", "0",
     "Bytes of the device to take at most; 0: all but the larger of 1 GiB and 5 %."},
};

/// Throws Failure ARGUMENT for other options and for values that are not numbers.
inline uint64_t read_memory_limit(std::span<const tenon_backend_option> options) {
  uint64_t bytes = 0;
  for (const tenon_backend_option& option : options) {
    if (std::string_view(option.key) != "memory_limit") {
      backends::refuse(TENON_BACKEND_ARGUMENT, "unknown option \"{}\"; there is: memory_limit",
                       option.key);
    }
    const std::string_view value = option.value;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (error != std::errc() || end != value.data() + value.size()) {
      backends::refuse(TENON_BACKEND_ARGUMENT, "memory_limit: \"{}\" is no whole number of bytes",
                       value);
    }
  }
  return bytes;
}

}  // namespace tenon::gpu
