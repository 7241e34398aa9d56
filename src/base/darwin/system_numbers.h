// Numbers that the kernel of macOS tells by name (sysctl).
#pragma once

#include <sys/sysctl.h>

#include <cstdint>

namespace tenon {

/// A number of 32 bits, as most are; 0 if the kernel does not know it.
inline uint32_t kernel_number(const char* name) noexcept {
  uint32_t number = 0;
  size_t size = sizeof number;
  return ::sysctlbyname(name, &number, &size, nullptr, 0) == 0 && size == sizeof number ? number
                                                                                        : 0;
}

}  // namespace tenon
