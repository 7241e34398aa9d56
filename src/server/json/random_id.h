// Names and seeds that no other request has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon_http {

/// Any thread.
uint64_t random_number();

/// The prefix and 24 letters and digits: "chatcmpl-..."
std::string random_id(std::string_view prefix);

}  // namespace tenon_http
