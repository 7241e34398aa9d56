// The texts of HTTP/1.1 (RFC 9112) that surround bodies: heads of answers, chunks, targets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace tenon_http {

struct HeadOptions {
  bool keep_alive = true;
  bool chunked = false;     ///< else with the length of the body
  bool bare = false;        ///< neither: the body ends with the connection (HTTP/1.0 streams)
  std::string_view cors{};  ///< origin that may read it (cors_policy.h); "": none
};

/// The status line and the headers of an answer, with the empty line after them.
std::string http_head(const HttpAnswer& answer, const HeadOptions& options);

/// Notes for the client as a header's value: one after another with "; ", in printable ASCII, cut at
/// 4 KiB.
std::string notes_header(const std::vector<std::string>& notes);

/// `bytes`, which are not empty, as a chunk.
std::string http_chunk(std::string_view bytes);
/// Prefix of a chunk; the chunk's bytes and a line end follow.
std::string http_chunk_begin(size_t size);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// "a b" of "a%20b"; what is no escape stays.
std::string percent_decoded(std::string_view text);

/// Splits a target at '?' into request.path, decoded, and request.query.
void set_target(HttpRequest& request, std::string_view target);

}  // namespace tenon_http
