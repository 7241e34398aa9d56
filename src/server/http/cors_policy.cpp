#include "server/http/cors_policy.h"

#include <algorithm>

namespace tenon_http {
namespace {

bool is_port(std::string_view text) {
  return text.empty() ||
         (text.size() > 1 && text.front() == ':' &&
          std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

/// "http://localhost:3000", "https://127.0.0.1", "http://[::1]:80"
bool is_loopback(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string_view authority = origin.substr(scheme.size());
    for (const std::string_view host : {"localhost", "127.0.0.1", "[::1]"}) {
      if (authority.starts_with(host) && is_port(authority.substr(host.size()))) return true;
    }
  }
  return false;
}

}  // namespace

bool is_own_page(std::string_view origin, std::string_view host) {
  const size_t scheme_end = origin.find("://");
  if (scheme_end == origin.npos || origin.substr(scheme_end + 3) != host) return false;
  const bool is_v6 = host.starts_with('[');
  return is_v6 || host.find_first_not_of("0123456789.:") == host.npos;
}

std::string_view allowed_origin(std::string_view policy, std::string_view origin) {
  if (policy == "*") return policy;
  if (policy == kLoopbackPages) return is_loopback(origin) ? origin : std::string_view();
  return origin == policy ? policy : std::string_view();
}

}  // namespace tenon_http
