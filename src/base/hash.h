// Fingerprints of bytes (XXH3, 128 bits) to recognise equal contents; not safe against attackers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tenon {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  auto operator<=>(const Hash128&) const = default;
  /// 32 hexadecimal digits, high half first.
  [[nodiscard]] std::string hex() const;
};

/// Hashes all bytes at once. Different seeds give independent hashes.
Hash128 hash_bytes(std::span<const std::byte> bytes, uint64_t seed = 0);

/// Gives the result of hash_bytes for bytes that arrive in pieces, in order. Not thread-safe.
class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void add(std::span<const std::byte> bytes);
  [[nodiscard]] Hash128 value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tenon
