// Numbers of a file at a place, in both byte orders; the caller has checked that they are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon::decoding {

inline uint32_t byte_at(std::span<const std::byte> file, size_t at) {
  return std::to_integer<uint32_t>(file[at]);
}
inline uint32_t little16(std::span<const std::byte> file, size_t at) {
  return byte_at(file, at) | byte_at(file, at + 1) << 8;
}
inline uint32_t little24(std::span<const std::byte> file, size_t at) {
  return little16(file, at) | byte_at(file, at + 2) << 16;
}
inline uint32_t little32(std::span<const std::byte> file, size_t at) {
  return little16(file, at) | little16(file, at + 2) << 16;
}
inline uint32_t big16(std::span<const std::byte> file, size_t at) {
  return byte_at(file, at) << 8 | byte_at(file, at + 1);
}
inline uint32_t big32(std::span<const std::byte> file, size_t at) {
  return big16(file, at) << 16 | big16(file, at + 2);
}

}  // namespace tenon::decoding
