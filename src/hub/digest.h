// Digests of files by the system's OpenSSL, opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/system.h"

namespace tenon::hub {

/// The functions of libcrypto that are used. Copies share the library, which stays loaded.
class Crypto {
 public:
  /// Throws Unsupported, naming the package, if the library is missing.
  explicit Crypto(System& system);

  void* (*context_new)() = nullptr;
  void (*context_free)(void*) = nullptr;
  const void* (*sha256)() = nullptr;
  const void* (*sha1)() = nullptr;
  int (*init)(void*, const void*, void*) = nullptr;
  int (*update)(void*, const void*, size_t) = nullptr;
  int (*final)(void*, unsigned char*, unsigned*) = nullptr;
};

/// A running digest.
class Digest {
 public:
  enum class Kind { Sha256, GitSha1 };

  /// size_bytes: of the file, which begins a git digest.
  Digest(const Crypto& crypto, Kind kind, uint64_t size_bytes);

  void add(std::span<const std::byte> bytes);
  /// The digest in lower-case hexadecimal. Ends it.
  std::string hex();

 private:
  const Crypto* crypto_;
  std::unique_ptr<void, void (*)(void*)> context_;
};

/// The sha256 of a text in hexadecimal.
std::string sha256_of(const Crypto& crypto, std::string_view text);

}  // namespace tenon::hub
