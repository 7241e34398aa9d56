// Bytes of a connection as the server gets them: heads, lengths, chunks, pipelined requests, paths, keys,
// trace contexts. Whatever they are, the connection ends, and the next client is answered.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <tenon/server.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

/// A server without models, on one thread.
class FuzzedServer {
 public:
  FuzzedServer() : path_("/tmp/tenon_fuzz_" + std::to_string(::getpid())) {
    tenon_server_options options{};
    options.struct_size = sizeof options;
    constexpr std::string_view kKeys = "secret anna requests=2\n";
    options.api_keys = kKeys.data();
    options.api_keys_length = kKeys.size();
    options.max_body_bytes = 65536;
    options.max_header_bytes = 1 << 20;  // a host's choice: fields beyond 64 KiB
    if (tenon_server_create(&options, &server_) != TENON_OK ||
        tenon_server_listen_unix(server_, path_.c_str()) != TENON_OK ||
        tenon_server_start(server_, 1) != TENON_OK) {
      std::abort();
    }
  }
  FuzzedServer(const FuzzedServer&) = delete;
  FuzzedServer& operator=(const FuzzedServer&) = delete;
  ~FuzzedServer() { tenon_server_destroy(server_); }

  /// What comes back until the connection ends.
  [[nodiscard]] std::string answer_to(std::string_view bytes) const {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      std::abort();
    }
    if (bytes.empty()) ::shutdown(fd, SHUT_WR);
    // The server may answer and stop reading before everything is sent.
    std::string answer;
    for (bool is_over = false; !is_over;) {
      pollfd waiting{fd, static_cast<short>(bytes.empty() ? POLLIN : POLLIN | POLLOUT), 0};
      if (::poll(&waiting, 1, -1) < 0) std::abort();
      if ((waiting.revents & POLLOUT) != 0 && !bytes.empty()) {
        const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        bytes.remove_prefix(sent < 0 ? bytes.size() : static_cast<size_t>(sent));
        if (bytes.empty()) ::shutdown(fd, SHUT_WR);
      }
      if ((waiting.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char buffer[4096];
      const ssize_t size = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (size > 0) answer.append(buffer, static_cast<size_t>(size));
      is_over = size == 0 || (size < 0 && errno != EAGAIN);
    }
    ::close(fd);
    return answer;
  }

 private:
  std::string path_;
  tenon_server* server_ = nullptr;
};

/// Expands 0x1e, a byte and a count to as many KiB of that byte, for requests longer than inputs.
std::string stretched(std::string_view input) {
  std::string bytes;
  for (size_t i = 0; i < input.size(); ++i) {
    if (input[i] != '\x1e' || i + 2 >= input.size()) {
      bytes += input[i];
      continue;
    }
    bytes.append(size_t{static_cast<unsigned char>(input[i + 2])} << 10, input[i + 1]);
    i += 2;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const FuzzedServer server;
  const std::string answer =
      server.answer_to(stretched({reinterpret_cast<const char*>(data), size}));
  if (!answer.empty() && !answer.starts_with("HTTP/1.1 ")) std::abort();
  return 0;
}
