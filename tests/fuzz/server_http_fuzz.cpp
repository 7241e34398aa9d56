// Bytes of a connection as the server gets them: heads, lengths, chunks, pipelined requests, paths, keys,
// trace contexts. Whatever they are, the connection ends, and the next client is answered.
#include <sys/socket.h>
#include <sys/un.h>
#include <tenon/server.h>
#include <unistd.h>

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
    (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
    std::string answer;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(size));
    }
    ::close(fd);
    return answer;
  }

 private:
  std::string path_;
  tenon_server* server_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const FuzzedServer server;
  const std::string answer = server.answer_to({reinterpret_cast<const char*>(data), size});
  if (!answer.empty() && !answer.starts_with("HTTP/1.1 ")) std::abort();
  return 0;
}
