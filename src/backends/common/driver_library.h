// Libraries of drivers, opened by their names: this file knows the dynamic loaders of the systems.
#pragma once

#include <string>

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace tenon::backends {

#ifdef _WIN32

/// Loads a library by a UTF-8 name or path; never from the working directory. keep: until the
/// process ends. Null on failure.
inline void* open_driver(const std::string& name, bool keep) {
  const int size = static_cast<int>(name.size());
  const int length = ::MultiByteToWideChar(CP_UTF8, 0, name.data(), size, nullptr, 0);
  std::wstring wide(static_cast<size_t>(length), L'\0');
  ::MultiByteToWideChar(CP_UTF8, 0, name.data(), size, wide.data(), length);
  bool is_path = false;
  for (wchar_t& c : wide) {
    if (c == L'/') c = L'\\';
    is_path = is_path || c == L'\\';
  }
  const HMODULE library = ::LoadLibraryExW(
      wide.c_str(), nullptr,
      LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (is_path ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : 0));
  HMODULE kept = nullptr;
  if (library != nullptr && keep) {
    ::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                         reinterpret_cast<LPCWSTR>(library), &kept);
  }
  return library;
}
inline void* driver_symbol(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}
inline void close_driver(void* library) { ::FreeLibrary(static_cast<HMODULE>(library)); }
/// Why open_driver failed; empty if the system does not tell.
inline std::string driver_error() {
  return "error " + std::to_string(::GetLastError()) + " of LoadLibrary";
}

#else

/// Loads a library by its name or path. keep: until the process ends. Null on failure.
inline void* open_driver(const std::string& name, bool keep) {
  return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | (keep ? RTLD_NODELETE : 0));
}
inline void* driver_symbol(void* library, const char* name) { return ::dlsym(library, name); }
inline void close_driver(void* library) { ::dlclose(library); }
/// Why open_driver failed; empty if the system does not tell.
inline std::string driver_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "" : text;
}

#endif

}  // namespace tenon::backends
