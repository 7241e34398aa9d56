// SHA-256 (FIPS 180-4): names contents so that nobody can make others of the same name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

using Digest256 = std::array<std::byte, 32>;

/// Bytes arrive in pieces, in order. Not thread-safe.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  /// Ends the message; nothing may be added afterwards.
  [[nodiscard]] Digest256 finish() noexcept;

 private:
  static constexpr size_t kBlock = 64;
  void mix(const std::byte* block) noexcept;

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> rest_{};
  uint64_t size_ = 0;  // bytes so far
};

}  // namespace tenon
