// Whether bytes are UTF-8, and how untrusted text is shown in messages. Unicode proper is in text/.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// Whether `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) noexcept;

/// At most `max_bytes` of `text`, with control characters and bytes that are no UTF-8 as \xNN.
/// The result is always UTF-8 of one line.
std::string printable(std::string_view text, size_t max_bytes);

/// `text` between double quotes for a message: at most `max_bytes` of it (then "..."), with control
/// characters and bytes that are no UTF-8 as \xNN. The result is always UTF-8.
std::string quoted(std::string_view text, size_t max_bytes = 96);

}  // namespace tenon
