// The event loop: sockets that listen, connections, and the thread that serves them. Boost stays
// behind this header.
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
  double header_seconds = 10;  ///< from the first byte of a request to the last of its headers
  double body_seconds = 60;
  double idle_seconds = 75;   ///< between two requests of a connection
  double write_seconds = 60;  ///< for which a client may take nothing of its answer
  size_t connections = 4096;
  size_t connections_per_address = 0;        ///< 0: half of them, and any number from this machine
  size_t pending_bytes = size_t{512} << 20;  ///< for all bodies and unsent answers together
  std::vector<std::string> hosts{};          ///< names of this machine (host_names.h)
  std::string cors{kLoopbackPages};          ///< which pages in browsers may ask (cors_policy.h)
  std::shared_ptr<const TlsContext> tls{};   ///< of connections over TCP; null: none
};

/// Everything happens on the thread in run() but where a function says otherwise.
class HttpLoop : public Tasks {
 public:
  using OnRequest = std::function<void(const std::shared_ptr<Exchange>&)>;
  /// Whether a request with this header may send its body. Otherwise OnRequest gets it without a
  /// body and refuses it.
  using Admits = std::function<bool(const HttpRequest&)>;

  HttpLoop(HttpLimits limits, Admits admits, OnRequest on_request);
  ~HttpLoop() override;

  /// Before run(). Throws ListenError.
  void listen_tcp(const std::string& host, uint16_t port);
  /// A socket that lies at `path` is replaced when nothing listens there; it is removed at the end.
  void listen_unix(const std::string& path);
  /// Of the latest listen_tcp().
  [[nodiscard]] uint16_t port() const;

  using Tasks::post;
  /// Any thread.
  void post(std::shared_ptr<Task> task) noexcept override;

  /// Serves until finish().
  void run() noexcept;
  /// Makes run() return. Any thread.
  void finish() noexcept;

  /// Closes idle connections now and others after their request, then posts `done`. New connections
  /// meanwhile get one answer each, without delaying `done`: the server is stopping.
  void drain(std::shared_ptr<Task> done) noexcept;
  /// Cancels what is under way: clients hear of it.
  void cancel_all() noexcept;
  /// Ends all connections, and interest in what is under way.
  void drop_all() noexcept;
  /// Any thread.
  [[nodiscard]] size_t num_connections() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

/// An address cannot be listened on; what() says why.
class ListenError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tenon_http
