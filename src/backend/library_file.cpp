#include "backend/library_file.h"

#include <array>
#include <cstring>

namespace tenon {
namespace {

/// Little-endian fields of a header; a field beyond the file makes all of it bad.
class Header {
 public:
  Header(const LibraryBytes& file, uint64_t size_bytes) : file_(file), size_bytes_(size_bytes) {}

  /// Reads the next `size_bytes` bytes at `offset`.
  bool load(uint64_t offset, size_t size_bytes) {
    return size_bytes <= bytes_.size() && contains(offset, size_bytes) &&
           file_.read_at(begin_ + offset, std::span(bytes_).first(size_bytes));
  }
  [[nodiscard]] uint16_t u16(size_t at) const { return number<uint16_t>(at); }
  [[nodiscard]] uint32_t u32(size_t at) const { return number<uint32_t>(at); }
  [[nodiscard]] uint64_t u64(size_t at) const { return number<uint64_t>(at); }
  [[nodiscard]] uint8_t u8(size_t at) const { return number<uint8_t>(at); }

  /// Whether the file has these bytes.
  [[nodiscard]] bool contains(uint64_t offset, uint64_t size_bytes) const {
    return offset <= size_bytes_ && size_bytes <= size_bytes_ - offset;
  }
  /// The header of a file inside this one, whose bytes this one has.
  [[nodiscard]] Header inside(uint64_t offset, uint64_t size_bytes) const {
    Header header(file_, size_bytes);
    header.begin_ = begin_ + offset;
    return header;
  }

 private:
  template <typename T>
  [[nodiscard]] T number(size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  const LibraryBytes& file_;
  uint64_t size_bytes_;
  uint64_t begin_ = 0;
  std::array<std::byte, 112> bytes_{};
};

/// System V ABI, chapters 4 and 5; offsets of the 64-bit structures.
bool is_whole_elf(Header header) {
  constexpr uint32_t kElfMagic = 0x464c457f;
  constexpr uint8_t kClass64 = 2;
  constexpr uint8_t kLittleEndian = 1;
  constexpr uint16_t kDynamic = 3;  // ET_DYN
  constexpr size_t kSegmentBytes = 56;
  if (!header.load(0, 64) || header.u32(0) != kElfMagic) return false;
  if (header.u8(4) != kClass64 || header.u8(5) != kLittleEndian) return false;
  if (header.u16(16) != kDynamic || header.u16(54) != kSegmentBytes) return false;
  const uint64_t table = header.u64(32);
  const uint16_t num_segments = header.u16(56);
  if (!header.contains(table, uint64_t{num_segments} * kSegmentBytes)) return false;
  for (uint64_t i = 0; i < num_segments; ++i) {
    if (!header.load(table + i * kSegmentBytes, kSegmentBytes)) return false;
    const uint32_t type = header.u32(0);
    if (type != 1 && type != 2) continue;  // PT_LOAD, PT_DYNAMIC
    if (!header.contains(header.u64(8), header.u64(32))) return false;
  }
  return true;
}

/// "PE Format" of Microsoft's documentation; offsets of PE32+.
bool is_whole_pe(Header header) {
  constexpr uint16_t kDosMagic = 0x5a4d;
  constexpr uint32_t kPeMagic = 0x00004550;
  constexpr uint16_t kExecutable = 0x0002;
  constexpr uint16_t kDll = 0x2000;
  constexpr uint16_t kPe32Plus = 0x020b;
  constexpr size_t kCoffBytes = 24;  // with the magic number
  constexpr size_t kSectionBytes = 40;
  if (!header.load(0, 64) || header.u16(0) != kDosMagic) return false;
  const uint64_t start = header.u32(60);
  if (!header.load(start, kCoffBytes) || header.u32(0) != kPeMagic) return false;
  const uint16_t num_sections = header.u16(6);
  const uint16_t optional_bytes = header.u16(20);
  const uint16_t flags = header.u16(22);
  if ((flags & kExecutable) == 0 || (flags & kDll) == 0) return false;
  const uint64_t optional = start + kCoffBytes;
  if (optional_bytes < 112 || !header.load(optional, 112)) return false;
  if (header.u16(0) != kPe32Plus) return false;
  const uint64_t image_bytes = header.u32(56);
  const uint64_t header_bytes = header.u32(60);
  const uint64_t table = optional + optional_bytes;
  const uint64_t table_bytes = uint64_t{num_sections} * kSectionBytes;
  if (num_sections == 0 || !header.contains(table, table_bytes)) return false;
  if (header_bytes < table + table_bytes || !header.contains(0, header_bytes)) return false;
  uint64_t least_address = header_bytes;
  for (uint64_t i = 0; i < num_sections; ++i) {
    if (!header.load(table + i * kSectionBytes, kSectionBytes)) return false;
    const uint64_t virtual_bytes = header.u32(8);
    const uint64_t address = header.u32(12);
    const uint64_t raw_bytes = header.u32(16);
    const uint64_t raw = header.u32(20);
    if (raw_bytes > 0 && !header.contains(raw, raw_bytes)) return false;
    if (address < least_address || address > image_bytes) return false;
    if (virtual_bytes > image_bytes - address) return false;
    least_address = address + virtual_bytes;
  }
  return true;
}

/// An image as <mach-o/loader.h> has it.
bool is_whole_mach_o_image(Header header) {
  constexpr uint32_t kMagic64 = 0xfeedfacf;
  constexpr uint32_t kDylib = 6;
  constexpr uint32_t kBundle = 8;
  constexpr uint32_t kSegment64 = 0x19;
  constexpr uint64_t kHeaderBytes = 32;
  constexpr uint64_t kMostCommandBytes = uint64_t{1} << 20;
  if (!header.load(0, kHeaderBytes) || header.u32(0) != kMagic64) return false;
  const uint32_t kind = header.u32(12);
  if (kind != kDylib && kind != kBundle) return false;
  const uint32_t num_commands = header.u32(16);
  const uint64_t end = kHeaderBytes + header.u32(20);
  if (end > kMostCommandBytes || !header.contains(0, end)) return false;
  uint64_t at = kHeaderBytes;
  for (uint32_t i = 0; i < num_commands; ++i) {
    if (end - at < 8 || !header.load(at, 8)) return false;
    const uint32_t type = header.u32(0);
    const uint64_t command_bytes = header.u32(4);
    if (command_bytes < 8 || command_bytes % 8 != 0 || command_bytes > end - at) return false;
    if (type == kSegment64) {
      if (command_bytes < 72 || !header.load(at, 72)) return false;
      if (!header.contains(header.u64(40), header.u64(48))) return false;
    }
    at += command_bytes;
  }
  return true;
}

uint32_t swapped(uint32_t value) {
  return value << 24 | (value & 0xff00) << 8 | (value >> 8 & 0xff00) | value >> 24;
}

/// An image, or a universal file of several (<mach-o/fat.h>, whose numbers are big-endian).
bool is_whole_mach_o(Header header) {
  constexpr uint32_t kUniversalMagic = 0xcafebabe;
  constexpr uint32_t kMostImages = 16;
  constexpr size_t kEntryBytes = 20;
  if (!header.load(0, 8) || swapped(header.u32(0)) != kUniversalMagic) {
    return is_whole_mach_o_image(header);
  }
  const uint32_t num_images = swapped(header.u32(4));
  if (num_images == 0 || num_images > kMostImages) return false;
  for (uint32_t i = 0; i < num_images; ++i) {
    if (!header.load(8 + i * kEntryBytes, kEntryBytes)) return false;
    const uint64_t offset = swapped(header.u32(8));
    const uint64_t size_bytes = swapped(header.u32(12));
    if (!header.contains(offset, size_bytes)) return false;
    if (!is_whole_mach_o_image(header.inside(offset, size_bytes))) return false;
  }
  return true;
}

}  // namespace

bool is_whole_library(LibraryFormat format, const LibraryBytes& file, uint64_t size_bytes) {
  const Header header(file, size_bytes);
  switch (format) {
    case LibraryFormat::Elf:
      return is_whole_elf(header);
    case LibraryFormat::Pe:
      return is_whole_pe(header);
    case LibraryFormat::MachO:
      return is_whole_mach_o(header);
  }
  return false;
}

}  // namespace tenon
