// The formats of strings that are checked (RFC 3339, 5321, 1123, 3986, 4122, 6901, ...), as
// patterns.
#pragma once

#include <string>
#include <string_view>

namespace tenon::grammar {

enum class FormatKind { Unknown, Supported, Unsupported };

/// What a format name is; `pattern` gets the pattern of its texts when it is supported.
FormatKind find_format(std::string_view name, std::string& pattern);

}  // namespace tenon::grammar
