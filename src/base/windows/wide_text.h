// UTF-8 to UTF-16 and back, for the calls of Windows.
#pragma once

#include <string>
#include <string_view>

#include "base/windows/windows_api.h"

namespace tenon {

/// Throws std::bad_alloc; empty for text that is no UTF-8.
inline std::wstring wide_text(std::string_view text) {
  const int size = static_cast<int>(text.size());
  const int length =
      ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0);
  std::wstring wide(static_cast<size_t>(length), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, wide.data(), length);
  return wide;
}

/// Throws std::bad_alloc. A lone surrogate becomes U+FFFD.
inline std::string utf8_text(std::wstring_view wide) {
  const int size = static_cast<int>(wide.size());
  const int length =
      ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<size_t>(length), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, text.data(), length, nullptr, nullptr);
  return text;
}

/// A path for the wide calls. Paths beyond MAX_PATH become absolute with the prefix that lifts the
/// limit. Empty if `path` is no UTF-8.
inline std::wstring wide_path(std::string_view path) {
  constexpr size_t kShortPath = 240;  // leaves room for a name of a folder's file
  std::wstring wide = wide_text(path);
  if (wide.size() < kShortPath || wide.starts_with(L"\\\\?\\")) return wide;
  std::wstring full(::GetFullPathNameW(wide.c_str(), 0, nullptr, nullptr), L'\0');
  full.resize(
      ::GetFullPathNameW(wide.c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr));
  if (full.starts_with(L"\\\\")) return L"\\\\?\\UNC" + full.substr(1);
  return L"\\\\?\\" + full;
}

}  // namespace tenon
