#include "hub/url.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon::hub {
namespace {

constexpr size_t kMaxUrlBytes = 16384;

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '[' || c == ']' || c == ':';
}

/// Whether it is 127.x.x.x, four decimal numbers: "127.a.example" is a name.
bool is_loopback_number(std::string_view host) {
  if (!host.starts_with("127.")) return false;
  int numbers = 0;
  for (size_t begin = 0; begin <= host.size(); ++numbers) {
    const size_t end = std::min(host.find('.', begin), host.size());
    const std::string_view number = host.substr(begin, end - begin);
    if (!is_digits(number) || number.size() > 3) return false;
    if (number.size() == 3 && number > "255") return false;
    begin = end + 1;
  }
  return numbers == 4;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string default_port(std::string_view scheme) { return scheme == "https" ? "443" : "80"; }

}  // namespace

std::string Url::text() const {
  return scheme + "://" + host + (port == default_port(scheme) ? "" : ":" + port) + path;
}

bool Url::is_loopback() const {
  return host == "localhost" || host == "[::1]" || is_loopback_number(host);
}

std::string Url::file_name() const {
  std::string_view name = std::string_view(path).substr(0, path.find('?'));
  name.remove_prefix(name.rfind('/') + 1);
  std::string decoded;
  for (size_t i = 0; i < name.size(); ++i) {
    const int high = name[i] == '%' && i + 2 < name.size() ? hex_value(name[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(name[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += name[i];
    }
  }
  return decoded;
}

Url parse_url(std::string_view text) {
  const auto refuse = [&](std::string_view reason) {
    fail(Code::Argument, "{}: {}", tenon::quoted(text, 160), reason);
  };
  if (text.size() > kMaxUrlBytes) refuse("the address is too long");
  Url url;
  const size_t colon = text.find("://");
  url.scheme = text.substr(0, colon == text.npos ? 0 : colon);
  if (url.scheme != "http" && url.scheme != "https") {
    refuse("an address begins with https:// or http://");
  }
  const bool bad = std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte >= 0x7f || c == '\\' || c == '"' || c == '<' || c == '>';
  });
  if (bad) refuse("the address has characters that must be percent-encoded");
  std::string_view rest = text.substr(colon + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t slash = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  url.path = rest.substr(slash);
  if (!url.path.starts_with('/')) url.path.insert(0, "/");
  if (authority.find('@') != authority.npos) {
    refuse("an address must not hold a user or a password; give a token instead");
  }
  url.port = default_port(url.scheme);
  const size_t bracket = authority.rfind(']');
  const size_t port = authority.rfind(':');
  if (port != authority.npos && (bracket == authority.npos || port > bracket)) {
    url.port = authority.substr(port + 1);
    if (!is_digits(url.port)) refuse("the port is not a number");
    authority = authority.substr(0, port);
  }
  url.host = authority;
  if (url.host.empty() || !std::ranges::all_of(url.host, is_host_character)) {
    refuse("the address has no valid host");
  }
  std::ranges::transform(url.host, url.host.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return url;
}

Url resolve_redirect(const Url& from, std::string_view location) {
  std::string target(location.substr(0, kMaxUrlBytes + 1));
  if (target.starts_with("//")) {
    target = from.scheme + ":" + target;
  } else if (target.starts_with('/')) {
    target = from.origin() + target;
  } else if (target.find("://") == target.npos || target.find("://") > 8) {
    const std::string_view path = std::string_view(from.path).substr(0, from.path.find('?'));
    target = from.origin() + std::string(path.substr(0, path.rfind('/') + 1)) + target;
  }
  Url url;
  try {
    url = parse_url(target);
  } catch (const Error& error) {
    fail(Code::Io, "{} redirects to an invalid address: {}", from.origin(), error.what());
  }
  if (from.scheme == "https" && url.scheme != "https") {
    fail(Code::Io, "{} redirects to {} without TLS, which is not followed", from.origin(),
         url.origin());
  }
  return url;
}

std::string percent_encoded(std::string_view text, bool keeps_slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || (c == '/' && keeps_slashes);
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace tenon::hub
