#include "server/compat/thought_signer.h"

#include <bit>

namespace tenon_http {
namespace {

constexpr std::string_view kSignatureVersion = "tenon1-";

}  // namespace

std::array<uint64_t, 2> sip_hash(const std::array<uint64_t, 2>& key, std::string_view text) {
  uint64_t v0 = key[0] ^ 0x736f6d6570736575;
  uint64_t v1 = key[1] ^ 0x646f72616e646f6d ^ 0xee;
  uint64_t v2 = key[0] ^ 0x6c7967656e657261;
  uint64_t v3 = key[1] ^ 0x7465646279746573;
  const auto rounds = [&](int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32);
      v2 += v1;
      v0 += v3;
      v1 = std::rotl(v1, 17) ^ v2;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 = std::rotl(v2, 32);
    }
  };
  const auto take = [&](uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  };
  const auto word_of = [](std::string_view bytes) {
    uint64_t word = 0;
    for (size_t i = bytes.size(); i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
    return word;
  };
  const uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) take(word_of(text.substr(0, 8)));
  take(size << 56 | word_of(text));
  std::array<uint64_t, 2> hash{};
  v2 ^= 0xee;
  rounds(4);
  hash[0] = v0 ^ v1 ^ v2 ^ v3;
  v1 ^= 0xdd;
  rounds(4);
  hash[1] = v0 ^ v1 ^ v2 ^ v3;
  return hash;
}

ThoughtSigner::ThoughtSigner(std::string_view secret) : key_(sip_hash({}, secret)) {}

std::string ThoughtSigner::sign(std::string_view thoughts) const {
  std::string signature(kSignatureVersion);
  for (uint64_t half : sip_hash(key_, thoughts)) {
    // Least significant byte first, as the reference writes the hash.
    for (int byte = 0; byte < 8; ++byte, half >>= 8) {
      signature += "0123456789abcdef"[half >> 4 & 15];
      signature += "0123456789abcdef"[half & 15];
    }
  }
  return signature;
}

bool ThoughtSigner::has_signed(std::string_view thoughts, std::string_view signature) const {
  return signature == sign(thoughts);
}

}  // namespace tenon_http
