#include "backend/plugin_folder.h"

#include <string_view>

#include "base/path.h"

namespace tenon {

std::string plugin_folder(const OwnCode& code) {
  if (!code.is_shared || code.is_secure) return {};
  if (code.file == nullptr || !is_absolute_path(code.file)) return {};
  return std::string(folder_part(code.file)) + "tenon/";
}

}  // namespace tenon
