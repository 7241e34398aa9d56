// Inputs and hashes that tests/data/media/make.py computes, too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace tenon::media {

/// Bytes of a linear congruential generator.
inline std::vector<uint8_t> noise(size_t count, uint32_t state = 12345) {
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return bytes;
}

/// FNV-1a of 64 bits.
inline uint64_t fnv(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xCBF29CE484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001B3;
  return hash;
}

inline std::vector<uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::filesystem::path data_folder() {
  return std::filesystem::path(TENON_TEST_DATA_DIR) / "media";
}

}  // namespace tenon::media
