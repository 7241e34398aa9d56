#include "hub/digest.h"

#include <dlfcn.h>

#include <array>

#include "base/error.h"

namespace tenon::hub {
namespace {

template <typename Function>
bool find_function(void* library, const char* name, Function*& into) {
  into = reinterpret_cast<Function*>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

Crypto::Crypto(System& system) {
  void* library = nullptr;
  const char* error = nullptr;
  for (const char* name : {"libcrypto.so.3", "libcrypto.so.1.1"}) {
    library = system.load_library(name, error);
    if (library != nullptr) break;
  }
  if (library == nullptr) {
    fail(Code::Unsupported,
         "files cannot be verified without OpenSSL's libcrypto (Debian: libssl3): {}",
         error == nullptr ? "not found" : error);
  }
  const bool has_all = find_function(library, "EVP_MD_CTX_new", context_new) &&
                       find_function(library, "EVP_MD_CTX_free", context_free) &&
                       find_function(library, "EVP_sha256", sha256) &&
                       find_function(library, "EVP_sha1", sha1) &&
                       find_function(library, "EVP_DigestInit_ex", init) &&
                       find_function(library, "EVP_DigestUpdate", update) &&
                       find_function(library, "EVP_DigestFinal_ex", final);
  if (!has_all) fail(Code::Unsupported, "the libcrypto that was found lacks EVP functions");
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
