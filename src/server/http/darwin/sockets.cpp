#include "server/http/sockets.h"

#include <fcntl.h>
#include <sys/socket.h>

namespace tenon_http {
namespace {

/// Sets what Linux sets while a socket is made; a process started in between inherits it.
int prepare(int socket) noexcept {
  if (socket < 0) return socket;
  const int yes = 1;
  (void)::fcntl(socket, F_SETFD, FD_CLOEXEC);
  (void)::fcntl(socket, F_SETFL, O_NONBLOCK);
  (void)::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
  return socket;
}

}  // namespace

int accept_socket(int listening, sockaddr_storage& peer) noexcept {
  socklen_t size = sizeof peer;
  return prepare(::accept(listening, reinterpret_cast<sockaddr*>(&peer), &size));
}

int open_socket(int family, int type) noexcept { return prepare(::socket(family, type, 0)); }

int64_t send_bytes(int socket, const char* bytes, size_t size) noexcept {
  return ::send(socket, bytes, size, 0);
}

}  // namespace tenon_http
