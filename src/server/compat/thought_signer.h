// Signs thoughts in Anthropic's interface, to recognize returned thoughts as this model's own.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon_http {

/// SipHash-2-4 with 128 bits, least significant half first. Source: Aumasson and Bernstein,
/// "SipHash: a fast short-input PRF", and the 128-bit variant of its reference implementation,
/// whose vectors pin it (notes_test.cpp).
std::array<uint64_t, 2> sip_hash(const std::array<uint64_t, 2>& key, std::string_view text);

/// Thread-safe.
class ThoughtSigner {
 public:
  /// secret: the server's; signatures stay valid after a restart with an equal secret.
  explicit ThoughtSigner(std::string_view secret);

  /// Returns a version and sip_hash() in hexadecimal digits.
  [[nodiscard]] std::string sign(std::string_view thoughts) const;
  [[nodiscard]] bool has_signed(std::string_view thoughts, std::string_view signature) const;

 private:
  std::array<uint64_t, 2> key_;
};

}  // namespace tenon_http
