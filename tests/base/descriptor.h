// Descriptors of open files as the library takes them: on Windows the value of a HANDLE. For tests
// only.
#pragma once

#include <cstdint>
#include <string>
#ifdef _WIN32
#include "base/windows/windows_api.h"
#undef far  // words of 16-bit compilers, and of tests
#undef near
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tenon {

#ifdef _WIN32
inline int open_descriptor(const std::string& path) {
  const HANDLE file = ::CreateFileA(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    nullptr, OPEN_EXISTING, 0, nullptr);
  return static_cast<int>(reinterpret_cast<intptr_t>(file));
}
inline void close_descriptor(int fd) {
  ::CloseHandle(reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd)));
}
#else
inline int open_descriptor(const std::string& path) { return ::open(path.c_str(), O_RDONLY); }
inline void close_descriptor(int fd) { ::close(fd); }
#endif

}  // namespace tenon
