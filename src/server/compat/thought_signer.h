// Signatures of thoughts in Anthropic's interface: what comes back as the model's thought was thought here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon_http {

/// SipHash-2-4 with 128 bits, the lowest first. Source: Aumasson and Bernstein, "SipHash: a fast
/// short-input PRF", and the 128-bit variant of its reference implementation, whose vectors pin it
/// (notes_test.cpp).
std::array<uint64_t, 2> sip_hash(const std::array<uint64_t, 2>& key, std::string_view text);

/// Any thread.
class ThoughtSigner {
 public:
  /// secret: of the server; one that was started again with the same one knows its signatures.
  explicit ThoughtSigner(std::string_view secret);

  /// sip_hash() in hexadecimal digits, with a version before it.
  [[nodiscard]] std::string sign(std::string_view thoughts) const;
  [[nodiscard]] bool has_signed(std::string_view thoughts, std::string_view signature) const;

 private:
  std::array<uint64_t, 2> key_;
};

}  // namespace tenon_http
