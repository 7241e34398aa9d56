// Judges whether a file is a complete shared library by its own headers. Dynamic loaders do not
// check: a truncated copy can kill the process at the first missing page. Pure parsing, for each
// system's format on every system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

enum class LibraryFormat { Elf, Pe, MachO };

#if defined(_WIN32)
inline constexpr LibraryFormat kOwnLibraryFormat = LibraryFormat::Pe;
#elif defined(__APPLE__)
inline constexpr LibraryFormat kOwnLibraryFormat = LibraryFormat::MachO;
#else
inline constexpr LibraryFormat kOwnLibraryFormat = LibraryFormat::Elf;
#endif

/// Bytes of a file at offsets.
class LibraryBytes {
 public:
  virtual ~LibraryBytes() = default;
  /// Fills `out`; false at the end of the file and on errors.
  [[nodiscard]] virtual bool read_at(uint64_t offset, std::span<std::byte> out) const = 0;
};

/// True if `file` of `size_bytes` bytes is a 64-bit, little-endian shared library of the format
/// with all bytes of its segments (ELF, Mach-O) or sections (PE).
bool is_whole_library(LibraryFormat format, const LibraryBytes& file, uint64_t size_bytes);

}  // namespace tenon
