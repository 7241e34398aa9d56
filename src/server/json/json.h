// JSON of requests and answers. Parsing checks bounds before it keeps a value; writing uses one
// line.
#pragma once

#include <string>
#include <string_view>

#include "server/json/json_memory.h"

namespace tenon_http {

/// Keeps the order of members, in which a schema's properties are generated.
using Json = JsonTree;

/// Bounds on a body. Clients nest less deeply. A value of two bytes ("0,") takes 16 in memory.
inline constexpr size_t kMaxJsonDepth = 128;
inline constexpr size_t kMaxJsonValues = 2'000'000;

/// Parses a document. Throws ApiError 400 for invalid JSON (RFC 8259) or beyond the bounds. The
/// first of several members with one name counts. Unpaired surrogate escapes become U+FFFD. Linear
/// time.
Json parse_json(std::string_view text);

/// Complete members of an object whose text was cut; an empty object for other text. Never throws
/// for the text's content.
Json parse_cut_object(std::string_view text);

/// Ill-formed UTF-8 becomes U+FFFD.
std::string to_text(const Json& value);

}  // namespace tenon_http
