#include "server/http/sockets.h"

#include <sys/socket.h>

namespace tenon_http {

int accept_socket(int listening, sockaddr_storage& peer) noexcept {
  socklen_t size = sizeof peer;
  return ::accept4(listening, reinterpret_cast<sockaddr*>(&peer), &size,
                   SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int open_socket(int family, int type) noexcept {
  return ::socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int64_t send_bytes(int socket, const char* bytes, size_t size) noexcept {
  return ::send(socket, bytes, size, MSG_NOSIGNAL);
}

}  // namespace tenon_http
