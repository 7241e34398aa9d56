// Bytes of a connection as one request of HTTP/1.1 (RFC 9112), with limits of our own on everything that a client
// chooses. Boost stays behind this header.
#pragma once

#include <memory>
#include <string_view>

#include "byte_budget.h"
#include "exchange.h"

namespace tenon_http {

/// A header and trailers have at most so many fields.
inline constexpr size_t kMaxFields = 512;
inline constexpr size_t kMaxTrailerFields = 64;
inline constexpr size_t kMaxTrailerBytes = size_t{8} << 10;
/// Of the extensions of one chunk, and of all chunks of a body.
inline constexpr size_t kMaxChunkExtensionBytes = size_t{1} << 10;
inline constexpr size_t kMaxExtensionBytes = size_t{16} << 10;

/// Reads one request. After what it throws it is of no use.
class RequestParser {
 public:
  /// bodies: what bodies may take together.
  RequestParser(size_t header_bytes, size_t body_bytes, std::shared_ptr<ByteBudget> bodies);
  ~RequestParser();

  /// Takes what it can use of `bytes`, to the end of the header, and then to that of the body; the rest comes again
  /// with more. Throws ApiError for what is no request, is larger than its limits or can be read in two ways.
  size_t put(std::string_view bytes);

  /// put() can use nothing before more comes.
  [[nodiscard]] bool needs_more() const { return needs_more_; }
  [[nodiscard]] bool has_header() const;
  [[nodiscard]] bool is_complete() const;
  /// The next ones once has_header().
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] bool is_old() const;  ///< HTTP/1.0
  [[nodiscard]] bool expects_continue() const;

  /// What is known of it; without a record of its own.
  [[nodiscard]] const HttpRequest& request() const;
  [[nodiscard]] std::string_view request_id() const;
  [[nodiscard]] std::string_view traceparent() const;
  HttpRequest take_request();
  /// The memory of the body.
  HeldBytes take_body_bytes();

 private:
  class State;
  std::unique_ptr<State> state_;
  bool needs_more_ = false;
};

}  // namespace tenon_http
