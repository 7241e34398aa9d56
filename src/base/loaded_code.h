// Facts about the running code that the dynamic loader knows.
#pragma once

#include <string_view>

#include "base/hash.h"

namespace tenon {

/// Names of shared libraries on this system begin and end so.
#ifdef _WIN32
inline constexpr std::string_view kLibraryPrefix = "";
inline constexpr std::string_view kLibraryEnding = ".dll";
#elif defined(__APPLE__)
inline constexpr std::string_view kLibraryPrefix = "lib";
inline constexpr std::string_view kLibraryEnding = ".dylib";
#else
inline constexpr std::string_view kLibraryPrefix = "lib";
inline constexpr std::string_view kLibraryEnding = ".so";
#endif

struct OwnCode {
  const char* file = nullptr;  ///< file of the code, as the dynamic loader names it
  bool is_shared = false;      ///< the file is the shared library itself
  bool is_secure = false;      ///< more rights than the process's caller (AT_SECURE)
};

/// Facts about this code.
OwnCode own_code() noexcept;

/// Fingerprint of the code and constants of the loaded file (program or library) that `address`
/// lies in: two builds that compute differently have different ones. Zero if the file is not known.
Hash128 code_fingerprint(const void* address) noexcept;

}  // namespace tenon
