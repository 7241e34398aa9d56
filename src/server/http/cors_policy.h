// Decides by the header "Origin" which web pages may send requests (Fetch standard, "CORS
// protocol"). Refuses a page without permission instead of only hiding the answer: the request
// itself acts.
#pragma once

#include <string_view>

namespace tenon_http {

/// Policy that allows pages of this machine, on any port: desktop programs and developers.
inline constexpr std::string_view kLoopbackPages = "loopback";

/// Value of "Access-Control-Allow-Origin" for a request of that origin; "" if the origin is
/// refused.
///   policy  "*", kLoopbackPages, an origin ("https://app.example"), or "" for none
///   origin  the header, "" if absent
std::string_view allowed_origin(std::string_view policy, std::string_view origin);

/// True if the origin is allowed, or "" since the request comes from no page.
inline bool may_ask(std::string_view policy, std::string_view origin) {
  return origin.empty() || !allowed_origin(policy, origin).empty();
}

/// True for the server's own page, requested by a numeric address. Names prove nothing: their owner
/// may resolve them to this machine (DNS rebinding).
///   host  the header: "192.0.2.1:8080"
bool is_own_page(std::string_view origin, std::string_view host);

}  // namespace tenon_http
