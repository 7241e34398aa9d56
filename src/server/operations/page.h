// Files of the chat page (src/server/page), which CMake embeds in the library.
#pragma once

#include <span>
#include <string_view>

namespace tenon_http {

struct PageFile {
  std::string_view name;  ///< "index.html"
  std::string_view content;
};

/// Defined in a source that CMake generates.
std::span<const PageFile> page_files();

}  // namespace tenon_http
