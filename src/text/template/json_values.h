// Converts JSON text to values of templates.
#pragma once

#include <string_view>

#include "text/template/jinja_value.h"

namespace tenon::jinja {

/// Converts a JSON document. Its texts are foreign (untrusted), except well-known roles of
/// messages, from which templates build special tokens. what: names the document in errors. Throws
/// Argument naming the byte for malformed JSON, nesting beyond kMaxValueDepth, or an integer beyond
/// 64 bits.
Value value_from_json(std::string_view json, std::string_view what);

}  // namespace tenon::jinja
