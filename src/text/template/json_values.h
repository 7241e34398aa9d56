// JSON text to the values of a template, and the only place where they meet a JSON library.
#pragma once

#include <string_view>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// The value of a JSON document. Its texts are foreign, but for the well-known roles of messages,
/// which templates may put together into marks. what: names the document in errors.
/// Throws Error(Argument) naming the byte for what is no JSON, nests deeper than kMaxValueDepth or
/// has an integer beyond 64 bits.
Value value_from_json(std::string_view json, std::string_view what);

}  // namespace tenon::jinja
