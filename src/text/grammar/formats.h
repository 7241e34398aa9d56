// Supported string formats (RFC 3339, 5321, 1123, 3986, 4122, 6901, ...) as patterns.
#pragma once

#include <string>
#include <string_view>

namespace tenon::grammar {

enum class FormatKind { Unknown, Supported, Unsupported };

FormatKind find_format(std::string_view name);
/// Pattern of the texts of a supported format.
std::string format_pattern(std::string_view name);

}  // namespace tenon::grammar
