#include "server/http/client_address.h"

#include <netinet/in.h>

#include <cstring>

namespace tenon_http {
namespace {

constexpr size_t kNetworkBytes = 8;
constexpr size_t kMappedBytes = 12;

ClientAddress of_v4(const void* bytes) {
  ClientAddress client{.text = std::string(static_cast<const char*>(bytes), 4)};
  client.is_local = client.text.front() == 127;
  return client;
}

}  // namespace

ClientAddress address_of(const sockaddr_storage& peer) {
  if (peer.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &peer, sizeof address);
    return of_v4(&address.sin_addr);
  }
  if (peer.ss_family != AF_INET6) return {.is_local = true};
  sockaddr_in6 address{};
  std::memcpy(&address, &peer, sizeof address);
  const auto* bytes = reinterpret_cast<const char*>(&address.sin6_addr);
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) return of_v4(bytes + kMappedBytes);
  return {.text = std::string(bytes, kNetworkBytes),
          .is_local = IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) != 0};
}

}  // namespace tenon_http
