#include "http_post.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

namespace tenon_http {
namespace {

class PostSocket {
 public:
  /// Takes the first address that answers.
  PostSocket(const HttpPost& post) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(post.host.c_str(), post.port.c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
    timeval limit{};
    limit.tv_sec = static_cast<time_t>(post.seconds);
    limit.tv_usec =
        static_cast<suseconds_t>((post.seconds - static_cast<double>(limit.tv_sec)) * 1e6);
    for (const addrinfo* address = found; address != nullptr && fd_ < 0;
         address = address->ai_next) {
      fd_ = ::socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, 0);
      if (fd_ < 0) continue;
      // On Linux the limit for sending holds for connecting, too (socket(7)).
      ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      if (::connect(fd_, address->ai_addr, address->ai_addrlen) == 0) break;
      ::close(fd_);
      fd_ = -1;
    }
  }
  PostSocket(const PostSocket&) = delete;
  PostSocket& operator=(const PostSocket&) = delete;
  ~PostSocket() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  /// The first bytes of an answer.
  [[nodiscard]] std::string receive(size_t size) const {
    std::string bytes;
    while (bytes.size() < size) {
      std::array<char, 512> buffer{};
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got <= 0) break;
      bytes.append(buffer.data(), static_cast<size_t>(got));
    }
    return bytes;
  }

 private:
  int fd_ = -1;
};

}  // namespace

int http_post(const HttpPost& post) {
  const PostSocket socket(post);
  const std::string head = "POST " + post.path + " HTTP/1.1\r\nHost: " + post.host + ":" +
                           post.port + "\r\nContent-Type: " + post.content_type +
                           "\r\nContent-Length: " + std::to_string(post.body.size()) +
                           "\r\nConnection: close\r\n\r\n";
  if (!socket.send(head + post.body)) return 0;
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  const std::string answer = socket.receive(kVersion.size() + 3);
  int status = 0;
  if (answer.size() >= kVersion.size() + 3 && answer.starts_with("HTTP/1.")) {
    const char* digits = answer.data() + kVersion.size();
    std::from_chars(digits, digits + 3, status);
  }
  return status;
}

}  // namespace tenon_http
