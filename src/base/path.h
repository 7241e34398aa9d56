// Rules of paths that differ between systems. Paths are UTF-8 everywhere; Windows takes '/' as well.
#pragma once

#include <string_view>

namespace tenon {

#ifdef _WIN32
inline constexpr std::string_view kPathSeparators = "/\\";
/// Whether "C:" names a drive, and "file:name" a stream of a file.
inline constexpr bool kColonsHaveMeaning = true;
#else
inline constexpr std::string_view kPathSeparators = "/";
inline constexpr bool kColonsHaveMeaning = false;
#endif

/// Whether the path names a file independently of working directories. On Windows: "C:\\...",
/// "C:/..." or two separators at the start.
constexpr bool is_absolute_path(std::string_view path) noexcept {
  const auto separator = [&](size_t at) {
    return at < path.size() && kPathSeparators.find(path[at]) != path.npos;
  };
#ifdef _WIN32
  const char letter = path.empty() ? ' ' : static_cast<char>(path[0] | 0x20);
  if (letter >= 'a' && letter <= 'z' && path.size() > 1 && path[1] == ':') return separator(2);
  return separator(0) && separator(1);
#else
  return separator(0);
#endif
}

/// Whether the path ends as one of a folder.
constexpr bool ends_with_separator(std::string_view path) noexcept {
  return !path.empty() && kPathSeparators.find(path.back()) != path.npos;
}

/// The path up to its last separator, with it; empty without one.
constexpr std::string_view folder_part(std::string_view path) noexcept {
  return path.substr(0, path.find_last_of(kPathSeparators) + 1);
}

}  // namespace tenon
