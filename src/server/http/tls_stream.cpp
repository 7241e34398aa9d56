#include "server/http/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>
#include <tenon/error.hpp>

#include "server/http/sockets.h"

namespace tenon_http {
namespace {

// BIO that sends without SIGPIPE. OpenSSL's own uses write(), which raises SIGPIPE in the host
// after the client has gone.

struct BioFree {
  void operator()(BIO_METHOD* method) const noexcept { BIO_meth_free(method); }
};
using BioMethod = std::unique_ptr<BIO_METHOD, BioFree>;

int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int finish_transfer(BIO* bio, ssize_t size, int retry) {
  BIO_clear_retry_flags(bio);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(size);
}

int bio_send(BIO* bio, const char* bytes, int size) {
  return finish_transfer(bio, send_bytes(socket_of(bio), bytes, static_cast<size_t>(size)),
                         BIO_FLAGS_WRITE);
}

int bio_receive(BIO* bio, char* bytes, int size) {
  return finish_transfer(bio, ::recv(socket_of(bio), bytes, static_cast<size_t>(size), 0),
                         BIO_FLAGS_READ);
}

long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BioMethod make_bio_method() {
  BioMethod method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tenon socket"));
  if (method != nullptr) {
    BIO_meth_set_write(method.get(), bio_send);
    BIO_meth_set_read(method.get(), bio_receive);
    BIO_meth_set_ctrl(method.get(), bio_control);
  }
  return method;
}

struct SslFree {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};
struct ContextFree {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};

class OpenSslStream : public TlsStream {
 public:
  OpenSslStream(SSL_CTX* context, const BIO_METHOD* method, int socket) : ssl_(SSL_new(context)) {
    BIO* bio = BIO_new(method);
    if (ssl_ == nullptr || bio == nullptr) {
      BIO_free(bio);
      throw std::bad_alloc();
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_accept_state(ssl_.get());
  }

  TlsOutcome read(char* bytes, size_t size) override {
    ERR_clear_error();
    return outcome_of(SSL_read(ssl_.get(), bytes, length_of(size)));
  }
  TlsOutcome write(std::string_view bytes) override {
    ERR_clear_error();
    return outcome_of(SSL_write(ssl_.get(), bytes.data(), length_of(bytes.size())));
  }
  [[nodiscard]] bool has_pending() const override { return SSL_pending(ssl_.get()) > 0; }
  void close() override {
    ERR_clear_error();
    if (!has_failed_) (void)SSL_shutdown(ssl_.get());
    ERR_clear_error();
  }

 private:
  static int length_of(size_t size) {
    return static_cast<int>(std::min(size, static_cast<size_t>(INT_MAX)));
  }

  TlsOutcome outcome_of(int result) {
    if (result > 0) return {TlsState::Done, static_cast<size_t>(result)};
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {TlsState::WantsRead};
      case SSL_ERROR_WANT_WRITE:
        return {TlsState::WantsWrite};
      case SSL_ERROR_ZERO_RETURN:
        return {TlsState::Closed};
      default:
        has_failed_ = true;
        return {TlsState::Failed};
    }
  }

  std::unique_ptr<SSL, SslFree> ssl_;
  bool has_failed_ = false;  ///< OpenSSL allows no close_notify after a failure
};

/// Selects HTTP/1.1 from the client's offer (ALPN, RFC 7301).
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_length,
                    const unsigned char* offered, unsigned offered_length, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_length, kOurs, sizeof kOurs - 1, offered,
                                           offered_length);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

class OpenSslContext : public TlsContext {
 public:
  OpenSslContext(const std::string& certificate_file, const std::string& key_file)
      : method_(make_bio_method()), context_(SSL_CTX_new(TLS_server_method())) {
    if (method_ == nullptr || context_ == nullptr) throw std::bad_alloc();
    SSL_CTX* context = context_.get();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
      refuse("certificate " + certificate_file);
    }
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
      refuse("key " + key_file);
    }
    if (SSL_CTX_check_private_key(context) != 1) refuse("key " + key_file + " for the certificate");
  }

  [[nodiscard]] std::unique_ptr<TlsStream> accept(int socket) const override {
    return std::make_unique<OpenSslStream>(context_.get(), method_.get(), socket);
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    const unsigned long error = ERR_peek_error();
    ERR_clear_error();
    const char* const reason = ERR_reason_error_string(error);  // null for a system error
    throw tenon::Error(
        tenon::Code::Io,
        "TLS cannot use the " + what + ": " +
            (reason != nullptr ? reason : std::generic_category().message(ERR_GET_REASON(error))));
  }

  BioMethod method_;
  std::unique_ptr<SSL_CTX, ContextFree> context_;
};

}  // namespace

std::shared_ptr<const TlsContext> open_tls(const std::string& certificate_file,
                                           const std::string& key_file) {
  return std::make_shared<const OpenSslContext>(certificate_file, key_file);
}

}  // namespace tenon_http
