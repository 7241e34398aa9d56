// TLS on sockets that do not block. tls_stream.cpp does it with OpenSSL; where that is missing,
// tls_absent.cpp refuses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon_http {

/// What came of an attempt to read or write.
enum class TlsState : uint8_t {
  Done,
  WantsRead,   ///< again when the socket can be read
  WantsWrite,  ///< again when it can be written
  Closed,      ///< by the other side, properly
  Failed,
};

struct TlsOutcome {
  TlsState state = TlsState::Failed;
  size_t size = 0;  ///< bytes that were read or written, when done
};

/// One connection, on one thread.
class TlsStream {
 public:
  virtual ~TlsStream() = default;
  virtual TlsOutcome read(char* bytes, size_t size) = 0;
  /// After WantsRead or WantsWrite the next call has the same bytes.
  virtual TlsOutcome write(std::string_view bytes) = 0;
  /// Bytes that read() would give although the socket has none.
  [[nodiscard]] virtual bool has_pending() const = 0;
  /// Says goodbye, as far as that does not block.
  virtual void close() = 0;
};

/// A certificate and its key. Any thread.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// The server's side on a socket that outlives it.
  [[nodiscard]] virtual std::unique_ptr<TlsStream> accept(int socket) const = 0;
};

/// Both files in PEM; the certificate may be a chain. Throws tenon::Error: IO, UNSUPPORTED in a library
/// that was built without TLS.
std::shared_ptr<const TlsContext> open_tls(const std::string& certificate_file,
                                           const std::string& key_file);

}  // namespace tenon_http
