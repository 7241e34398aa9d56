// Address that identifies a client: an IPv4 address, or an IPv6 subscriber's network.
#pragma once

#include <sys/socket.h>

#include <string>

namespace tenon_http {

struct ClientAddress {
  std::string text{};     ///< its bytes: equal for the same client; "" for a Unix socket
  bool is_local = false;  ///< on this machine: a proxy may speak for many
};

/// peer: from accept(). IPv6 addresses count by their first 64 bits, mapped IPv4 as IPv4.
ClientAddress address_of(const sockaddr_storage& peer);

}  // namespace tenon_http
