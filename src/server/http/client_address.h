// Address that identifies a client: an IPv4 address, or an IPv6 subscriber's network.
#pragma once

#include <sys/socket.h>

#include <string>

namespace tenon_http {

struct ClientAddress {
  std::string text{};     ///< raw address bytes, equal for the same client; "" for a Unix socket
  bool is_local = false;  ///< loopback; may be a proxy for many clients
};

/// peer: from accept(). IPv6 addresses count by their first 64 bits, mapped IPv4 as IPv4.
ClientAddress address_of(const sockaddr_storage& peer);

}  // namespace tenon_http
