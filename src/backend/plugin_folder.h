// Default folder of plugins.
#pragma once

#include <string>

namespace tenon {

/// Facts about the running code.
struct OwnCode {
  const char* file = nullptr;  ///< file of the code, as the dynamic loader names it
  bool is_shared = false;      ///< the file is the shared library itself
  bool is_secure = false;      ///< more rights than the process's caller (AT_SECURE)
};

OwnCode own_code() noexcept;

/// Folder `tenon/` beside the shared library; empty if none is searched. Code linked into a program
/// has no folder: the loader knows only argv[0], which the caller chooses. A process with more
/// rights than its caller (AT_SECURE) loads only plugins that it names.
std::string plugin_folder(const OwnCode& code);

}  // namespace tenon
