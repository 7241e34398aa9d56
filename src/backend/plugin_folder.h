// Default folder of plugins.
#pragma once

#include <string>

#include "base/loaded_code.h"

namespace tenon {

/// Folder `tenon/` beside the shared library; empty if none is searched. Code linked into a program
/// has no folder: the loader knows only argv[0], which the caller chooses. A process with more
/// rights than its caller (AT_SECURE) loads only plugins that it names.
std::string plugin_folder(const OwnCode& code);

}  // namespace tenon
