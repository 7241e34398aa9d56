// Who counts as one client among connections: an address, or for IPv6 the network that one subscriber has.
#pragma once

#include <sys/socket.h>

#include <string>

namespace tenon_http {

struct ClientAddress {
  std::string text{};     ///< its bytes: equal for the same client; "" for a Unix socket
  bool is_local = false;  ///< of this machine: a proxy here speaks for many
};

/// peer: as accept() tells it. IPv6 counts by its first 64 bits, but IPv4 inside it as such.
ClientAddress address_of(const sockaddr_storage& peer);

}  // namespace tenon_http
