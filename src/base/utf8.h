// Validation of UTF-8, and display of untrusted text in messages. Other Unicode code is in text/.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// True for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// At most `max_bytes` of `text`, with control characters and invalid UTF-8 as \xNN. The result is
/// one line of valid UTF-8.
std::string printable(std::string_view text, size_t max_bytes);

/// `text` in double quotes for a message: at most `max_bytes` of it (then "..."), with control
/// characters and invalid UTF-8 as \xNN. The result is valid UTF-8.
std::string quoted(std::string_view text, size_t max_bytes = 96);

}  // namespace tenon
