// Addresses: parts, redirects and percent-encoding.
#pragma once

#include <string>
#include <string_view>

namespace tenon::hub {

/// An http or https address without user and fragment.
struct Url {
  std::string scheme;  ///< "http" or "https"
  std::string host;    ///< lower case; IPv6 in brackets
  std::string port;    ///< digits; the scheme's unless given
  std::string path;    ///< begins with "/"; with the query

  [[nodiscard]] std::string text() const;
  /// Scheme, host and port: where a token may go.
  [[nodiscard]] std::string origin() const { return scheme + "://" + host + ":" + port; }
  /// Whether the host is this machine, by its form.
  [[nodiscard]] bool is_loopback() const;
  /// Last part of the path, percent-decoded, without the query.
  [[nodiscard]] std::string file_name() const;
};

/// Throws Argument for anything else than http and https, for a user in the address, and for
/// characters that an address cannot have.
Url parse_url(std::string_view text);

/// The address that a redirect from `from` leads to. Throws Io for an invalid one and for one that
/// leaves TLS.
Url resolve_redirect(const Url& from, std::string_view location);

/// Percent-encodes everything but letters, digits and "-._~"; also "/" unless `keeps_slashes`.
std::string percent_encoded(std::string_view text, bool keeps_slashes);

}  // namespace tenon::hub
