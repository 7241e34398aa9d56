// Random numbers and ids, unique per request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon_http {

/// Thread-safe.
uint64_t random_number();

/// Returns the prefix and 24 letters and digits: "chatcmpl-...".
std::string random_id(std::string_view prefix);

}  // namespace tenon_http
