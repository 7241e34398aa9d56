// Parses a connection's bytes as one HTTP/1.1 request (RFC 9112), with limits on everything that a
// client chooses. Hides Boost.
#pragma once

#include <memory>
#include <string_view>

#include "server/http/byte_budget.h"
#include "server/http/exchange.h"

namespace tenon_http {

/// Limits on the fields of a header and of trailers.
inline constexpr size_t kMaxFields = 512;
inline constexpr size_t kMaxTrailerFields = 64;
inline constexpr size_t kMaxTrailerBytes = size_t{8} << 10;
/// Limits on the extensions of one chunk, and of all chunks of a body.
inline constexpr size_t kMaxChunkExtensionBytes = size_t{1} << 10;
inline constexpr size_t kMaxExtensionBytes = size_t{16} << 10;

/// Parses a single request. Unusable after an exception.
class RequestParser {
 public:
  /// bodies: budget shared by all bodies.
  RequestParser(size_t header_bytes, size_t body_bytes, std::shared_ptr<ByteBudget> bodies);
  ~RequestParser();

  /// Parses to the end of the header, and in later calls to the end of the body. Returns the number
  /// of bytes used; the caller passes the rest again with more. Throws ApiError for invalid or
  /// ambiguous requests, and for parts beyond the limits.
  size_t put(std::string_view bytes);

  /// True if put() needs more bytes to continue.
  [[nodiscard]] bool needs_more() const { return needs_more_; }
  [[nodiscard]] bool has_header() const;
  [[nodiscard]] bool is_complete() const;
  /// Valid once has_header() is true, like the next two functions.
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] bool is_old() const;  ///< HTTP/1.0
  [[nodiscard]] bool expects_continue() const;

  /// Request parsed so far, without a record.
  [[nodiscard]] const HttpRequest& request() const;
  [[nodiscard]] std::string_view request_id() const;
  [[nodiscard]] std::string_view traceparent() const;
  HttpRequest take_request();
  /// Budget held by the body.
  HeldBytes take_body_bytes();

 private:
  class State;
  std::unique_ptr<State> state_;
  bool needs_more_ = false;
};

}  // namespace tenon_http
