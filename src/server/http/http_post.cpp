#include "server/http/http_post.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>

#include "server/http/sockets.h"

namespace tenon_http {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(50);

/// Non-blocking socket with one deadline for all its operations.
class PostSocket {
 public:
  /// Connects to the first address that answers.
  explicit PostSocket(const HttpPost& post)
      : limit_(Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(post.seconds * 1000))),
        gives_up_(post.gives_up) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(post.host.c_str(), post.port.c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
    for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
      if (connect(*address)) return;
      close();
    }
  }
  PostSocket(const PostSocket&) = delete;
  PostSocket& operator=(const PostSocket&) = delete;
  ~PostSocket() { close(); }

  [[nodiscard]] bool send(std::string_view bytes) const {
    while (fd_ >= 0 && !bytes.empty()) {
      const int64_t sent = send_bytes(fd_, bytes.data(), bytes.size());
      if (sent > 0) {
        bytes.remove_prefix(static_cast<size_t>(sent));
      } else if (!is_busy() || !wait_for(POLLOUT)) {
        return false;
      }
    }
    return bytes.empty();
  }

  /// Receives at least `size` bytes; fewer at the end of the answer or at the deadline.
  [[nodiscard]] std::string receive(size_t size) const {
    std::string bytes;
    while (bytes.size() < size) {
      std::array<char, 512> buffer{};
      const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
      if (got > 0) {
        bytes.append(buffer.data(), static_cast<size_t>(got));
      } else if (got == 0 || !is_busy() || !wait_for(POLLIN)) {
        break;
      }
    }
    return bytes;
  }

 private:
  static bool is_busy() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  bool connect(const addrinfo& address) {
    fd_ = open_socket(address.ai_family, address.ai_socktype);
    if (fd_ < 0) return false;
    if (::connect(fd_, address.ai_addr, address.ai_addrlen) == 0) return true;
    if (errno != EINPROGRESS || !wait_for(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    return ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }

  /// Waits for the socket; false at the deadline.
  [[nodiscard]] bool wait_for(short events) const {
    for (;;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(limit_ - Clock::now());
      if (left.count() <= 0 || (gives_up_ && gives_up_())) return false;
      pollfd waiting{.fd = fd_, .events = events, .revents = 0};
      const int ready = ::poll(&waiting, 1, static_cast<int>(std::min(left, kLook).count()));
      if (ready > 0) return true;
      if (ready < 0 && errno != EINTR) return false;
    }
  }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  Clock::time_point limit_;
  const std::function<bool()>& gives_up_;
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
