#include <tenon/error.hpp>

#include "server/http/tls_stream.h"

namespace tenon_http {

std::shared_ptr<const TlsContext> open_tls(const std::string&, const std::string&) {
  throw tenon::Error(tenon::Code::Unsupported, "the server was built without TLS (OpenSSL)");
}

}  // namespace tenon_http
