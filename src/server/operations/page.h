// The files of the chat page (src/server/page), which CMake puts into the library.
#pragma once

#include <span>
#include <string_view>

namespace tenon_http {

struct PageFile {
  std::string_view name;  ///< "index.html"
  std::string_view content;
};

/// In a source that CMake writes.
std::span<const PageFile> page_files();

}  // namespace tenon_http
