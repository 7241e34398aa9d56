#include "backend/plugin_folder.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <filesystem>

/// Defined only by the shared library (capi/shared_only/shared_library.cpp).
extern "C" __attribute__((weak, visibility("hidden"))) const char tenon_is_shared_library;

namespace tenon {

OwnCode own_code() noexcept {
  OwnCode code;
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_code), &info) != 0) code.file = info.dli_fname;
  code.is_shared = &tenon_is_shared_library != nullptr;
  code.is_secure = ::getauxval(AT_SECURE) != 0;
  return code;
}

std::string plugin_folder(const OwnCode& code) {
  if (!code.is_shared || code.is_secure) return {};
  if (code.file == nullptr || code.file[0] != '/') return {};
  return (std::filesystem::path(code.file).parent_path() / "tenon/").string();
}

}  // namespace tenon
