// Sockets as systems differ in them: none blocks, no child process inherits one, and writing to one
// that the peer has closed is an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>

struct sockaddr_storage;

namespace tenon_http {

/// Accepts a pending connection: its descriptor, with its address in `peer`, or -1 with errno.
int accept_socket(int listening, sockaddr_storage& peer) noexcept;

/// A new socket of a family and type, as of socket(); -1 with errno.
int open_socket(int family, int type) noexcept;

/// Sends up to `size` bytes: their number, or -1 with errno.
int64_t send_bytes(int socket, const char* bytes, size_t size) noexcept;

}  // namespace tenon_http
