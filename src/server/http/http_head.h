// Framing of HTTP/1.1 messages (RFC 9112): heads of answers, chunks, targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace tenon_http {

struct HeadOptions {
  bool keep_alive = true;
  bool chunked = false;  ///< chunked transfer coding; else Content-Length
  bool bare = false;     ///< no framing: the end of the connection ends the body (HTTP/1.0 streams)
  std::string_view cors{};  ///< origin that may read the answer (cors_policy.h); "" for none
};

/// Status line and headers of an answer, with the empty line after them.
std::string http_head(const HttpAnswer& answer, const HeadOptions& options);

/// Header value for notes: joined by "; ", in printable ASCII, cut at 4 KiB.
std::string notes_header(const std::vector<std::string>& notes);

/// Formats `bytes` as a chunk. bytes: not empty.
std::string http_chunk(std::string_view bytes);
/// Head of a chunk; the chunk's bytes and a line end follow.
std::string http_chunk_begin(size_t size);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// Decodes "a%20b" to "a b"; malformed escapes stay.
std::string percent_decoded(std::string_view text);

/// Splits a target at '?' into request.path, decoded, and request.query.
void set_target(HttpRequest& request, std::string_view target);

}  // namespace tenon_http
