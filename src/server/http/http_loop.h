// Event loop: listening sockets, connections, and the thread that serves them. Hides Boost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/http/cors_policy.h"
#include "server/http/exchange.h"
#include "server/http/tls_stream.h"

namespace tenon_http {

struct HttpLimits {
  size_t header_bytes = size_t{32} << 10;
  size_t body_bytes = size_t{32} << 20;
  double header_seconds = 10;  ///< limit from a request's first byte to the end of its header
  double body_seconds = 60;
  double idle_seconds = 75;   ///< limit between requests of a connection
  double write_seconds = 60;  ///< limit without progress in sending an answer
  size_t connections = 4096;
  /// 0 means half of max_connections, unlimited for this machine
  size_t connections_per_address = 0;
  size_t pending_bytes = size_t{512} << 20;  ///< shared by all bodies and unsent answers
  std::vector<std::string> hosts{};          ///< additional names of this machine (host_names.h)
  std::string cors{kLoopbackPages};          ///< pages that may send requests (cors_policy.h)
  std::shared_ptr<const TlsContext> tls{};   ///< TLS of TCP connections; null for plain HTTP
};

/// Everything happens on the thread in run(), unless a function says otherwise.
class HttpLoop : public Tasks {
 public:
  using OnRequest = std::function<void(const std::shared_ptr<Exchange>&)>;
  /// Decides by the header whether a request may send its body. OnRequest gets refused requests
  /// without a body.
  using Admits = std::function<bool(const HttpRequest&)>;

  HttpLoop(HttpLimits limits, Admits admits, OnRequest on_request);
  ~HttpLoop() override;

  /// Call before run(). Throws ListenError.
  void listen_tcp(const std::string& host, uint16_t port);
  /// Replaces a stale socket at `path`, and removes the socket at the end.
  void listen_unix(const std::string& path);
  /// Port of the latest listen_tcp().
  [[nodiscard]] uint16_t port() const;

  using Tasks::post;
  /// Thread-safe.
  void post(std::shared_ptr<Task> task) noexcept override;

  /// Serves until finish().
  void run() noexcept;
  /// Makes run() return. Thread-safe.
  void finish() noexcept;

  /// Closes idle connections now and others after their request, then posts `done`. Each new
  /// connection gets a single answer, that the server is stopping, without delaying `done`.
  void drain(std::shared_ptr<Task> done) noexcept;
  /// Cancels running requests; their clients get an error.
  void cancel_all() noexcept;
  /// Closes all connections, and ends the interest in running requests.
  void drop_all() noexcept;
  /// Thread-safe.
  [[nodiscard]] size_t num_connections() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// Thrown if an address cannot be listened on; what() gives the reason.
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tenon_http
