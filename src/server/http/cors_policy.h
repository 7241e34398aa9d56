// Which pages in browsers may ask, by the header "Origin" (Fetch standard, "CORS protocol"). A page that
// may not is refused, not only kept from reading: to ask is to act.
#pragma once

#include <string_view>

namespace tenon_http {

/// Pages of this machine, on any port: what a desktop program and a developer use.
inline constexpr std::string_view kLoopbackPages = "loopback";

/// What "Access-Control-Allow-Origin" says to a request of that origin; "" for one that may not ask.
///   policy  "*", kLoopbackPages, one origin ("https://app.example"), or "" for none
///   origin  the header, "" where it is absent
std::string_view allowed_origin(std::string_view policy, std::string_view origin);

/// Requests without the header come from no page.
inline bool may_ask(std::string_view policy, std::string_view origin) {
  return origin.empty() || !allowed_origin(policy, origin).empty();
}

/// Of the server's own page, asked for by an address in digits. A name proves nothing, since who owns it
/// may let it lead here (DNS rebinding).
///   host  the header: "192.0.2.1:8080"
bool is_own_page(std::string_view origin, std::string_view host);

}  // namespace tenon_http
