// TLS on non-blocking sockets. tls_stream.cpp implements it with OpenSSL; tls_absent.cpp refuses in
// builds without OpenSSL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon_http {

/// Result of a read or write.
enum class TlsState : uint8_t {
  Done,
  WantsRead,   ///< retry when the socket is readable
  WantsWrite,  ///< retry when the socket is writable
  Closed,      ///< closed properly by the other side
  Failed,
};

struct TlsOutcome {
  TlsState state = TlsState::Failed;
  size_t size = 0;  ///< bytes read or written if done
};

/// TLS on one connection; used by one thread.
class TlsStream {
 public:
  virtual ~TlsStream() = default;
  virtual TlsOutcome read(char* bytes, size_t size) = 0;
  /// After WantsRead or WantsWrite, pass the same bytes again.
  virtual TlsOutcome write(std::string_view bytes) = 0;
  /// True if read() has bytes that the socket does not report.
  [[nodiscard]] virtual bool has_pending() const = 0;
  /// Sends close_notify unless that would block.
  virtual void close() = 0;
};

/// Certificate and key. Thread-safe.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// Server's side of a connection. socket: outlives the stream.
  [[nodiscard]] virtual std::unique_ptr<TlsStream> accept(int socket) const = 0;
};

/// Opens two PEM files; the certificate may be a chain. Throws tenon::Error IO, or UNSUPPORTED in a
/// library built without TLS.
std::shared_ptr<const TlsContext> open_tls(const std::string& certificate_file,
                                           const std::string& key_file);

}  // namespace tenon_http
