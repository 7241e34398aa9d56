// Checks the header "Host" for names of this machine. DNS rebinding: another site's name may
// resolve to this machine, and the browser then treats answers as that site's own. The header shows
// the name used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon_http {

/// True for names that no stranger can own: "localhost" and its subdomains, numeric addresses,
/// names without a dot, and `more` ("*" for all). Also true without the header, which browsers
/// always send.
///   host  the header's value, such as "localhost:8080"; "" if absent
bool is_local_host(std::string_view host, const std::vector<std::string>& more);

/// Splits "a.example, b.example".
std::vector<std::string> read_host_names(std::string_view text);

}  // namespace tenon_http
