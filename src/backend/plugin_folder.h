// The folder in which plugins are looked for without being named.
#pragma once

#include <string>

namespace tenon {

/// Facts about the code that runs.
struct OwnCode {
  const char* file = nullptr;  ///< the file it was loaded from, as the dynamic loader names it
  bool is_shared = false;      ///< it is the shared library, not a part of somebody else's file
  bool is_secure = false;      ///< whoever started the process has fewer rights than it (AT_SECURE)
};

OwnCode own_code() noexcept;

/// The folder `tenon/` beside the shared library. Empty where nothing is searched: of a main program
/// the loader knows argv[0] only, which is whatever the caller wrote, so code that is linked into a
/// program or another library has no folder; and a process with more rights than its caller loads
/// nothing that it was not told of.
std::string plugin_folder(const OwnCode& code);

}  // namespace tenon
