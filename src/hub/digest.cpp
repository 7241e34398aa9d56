#include "hub/digest.h"

#include <array>

#include "base/error.h"
#include "base/system_library.h"

namespace tenon::hub {

Crypto::Crypto(System& system) {
  const SystemLibrary library(
      system, {"libcrypto.so.3", "libcrypto.so.1.1"},
      "files cannot be verified without OpenSSL's libcrypto (Debian: libssl3)");
  library.find("EVP_MD_CTX_new", context_new);
  library.find("EVP_MD_CTX_free", context_free);
  library.find("EVP_sha256", sha256);
  library.find("EVP_sha1", sha1);
  library.find("EVP_DigestInit_ex", init);
  library.find("EVP_DigestUpdate", update);
  library.find("EVP_DigestFinal_ex", final);
}

Digest::Digest(const Crypto& crypto, Kind kind, uint64_t size_bytes)
    : crypto_(&crypto), context_(crypto.context_new(), crypto.context_free) {
  const void* method = kind == Kind::Sha256 ? crypto.sha256() : crypto.sha1();
  if (context_ == nullptr || crypto_->init(context_.get(), method, nullptr) != 1) {
    fail(Code::Unsupported, "OpenSSL refuses {} here",
         kind == Kind::Sha256 ? "sha256" : "sha1, by which small files are verified");
  }
  if (kind == Kind::GitSha1) {
    const std::string head = "blob " + std::to_string(size_bytes) + '\0';
    add(std::as_bytes(std::span(head)));
  }
}

void Digest::add(std::span<const std::byte> bytes) {
  if (crypto_->update(context_.get(), bytes.data(), bytes.size()) != 1) {
    fail(Code::Internal, "OpenSSL failed in a digest");
  }
}

std::string Digest::hex() {
  std::array<unsigned char, 64> bytes{};
  unsigned length = 0;
  if (crypto_->final(context_.get(), bytes.data(), &length) != 1) {
    fail(Code::Internal, "OpenSSL failed in a digest");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < length; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string sha256_of(const Crypto& crypto, std::string_view text) {
  Digest digest(crypto, Digest::Kind::Sha256, text.size());
  digest.add(std::as_bytes(std::span(text)));
  return digest.hex();
}

}  // namespace tenon::hub
