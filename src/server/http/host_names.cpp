#include "server/http/host_names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

#include "server/json/words.h"

namespace tenon_http {
namespace {

/// Host name without the port and without the root's trailing dot.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = std::min(host.find(']'), host.size() - 1) + 1;
    return end == host.size() || host[end] == ':' ? host.substr(0, end) : host;
  }
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool same_name(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  });
}

bool is_address(std::string_view name) {
  const bool is_v6 = name.starts_with('[') && name.ends_with(']');
  const std::string text(is_v6 ? name.substr(1, name.size() - 2) : name);
  in6_addr address{};
  return ::inet_pton(is_v6 ? AF_INET6 : AF_INET, text.c_str(), &address) == 1;
}

bool is_label(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
}

}  // namespace

bool is_local_host(std::string_view host, const std::vector<std::string>& more) {
  if (host.empty()) return true;
  const std::string_view name = name_of(host);
  constexpr std::string_view kLocal = ".localhost";
  const bool is_under_local =
      name.size() > kLocal.size() && same_name(name.substr(name.size() - kLocal.size()), kLocal);
  if (is_under_local || is_label(name) || is_address(name)) return true;
  return std::any_of(more.begin(), more.end(), [&](const std::string& known) {
    return known == "*" || same_name(name_of(known), name);
  });
}

std::vector<std::string> read_host_names(std::string_view text) {
  const std::vector<std::string_view> names = words_of(text, ", \t\r\n");
  return {names.begin(), names.end()};
}

}  // namespace tenon_http
