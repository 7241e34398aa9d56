// Names under which a server on this machine may be asked, by the header "Host". A page elsewhere can make its own name
// lead here (DNS rebinding), and the browser then takes the answers for the page's own: the name tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon_http {

/// Whether nobody elsewhere can own the name: "localhost" and names under it, addresses in digits, names without a dot,
/// and those of `more`, where "*" stands for all. Absent ("") it is no page's.
///   host  the header: "localhost:8080"
bool is_local_host(std::string_view host, const std::vector<std::string>& more);

/// "a.example, b.example" as a list.
std::vector<std::string> read_host_names(std::string_view text);

}  // namespace tenon_http
