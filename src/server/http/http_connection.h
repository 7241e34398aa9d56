// HTTP connection: parses requests, sends answers and enforces timeouts. Owned by http_loop.cpp;
// routes see Exchange.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/byte_budget.h"
#include "server/http/http_loop.h"
#include "server/http/request_parser.h"

namespace tenon_http {

class HttpConnection;

/// Services of the loop for its connections.
class HttpConnections {
 public:
  virtual ~HttpConnections() = default;
  [[nodiscard]] virtual const HttpLimits& limits() const = 0;
  [[nodiscard]] virtual bool is_draining() const = 0;
  /// Read buffer that all connections share.
  virtual std::vector<char>& buffer() = 0;
  /// Shared budget for all bodies and unsent answers.
  [[nodiscard]] virtual const std::shared_ptr<ByteBudget>& budget() const = 0;
  /// Prepared answer for a failure that leaves no memory for another.
  [[nodiscard]] virtual std::string_view last_words(Failure why, ErrorShape shape) const = 0;
  [[nodiscard]] virtual bool admits(const HttpRequest& request) = 0;
  virtual void on_request(const std::shared_ptr<Exchange>& exchange) = 0;
  virtual void post(std::shared_ptr<Task> task) noexcept = 0;
  /// Called when the connection has ended.
  virtual void remove(HttpConnection& connection) noexcept = 0;
};

/// Position of a connection in its server's list.
struct ConnectionPlace {
  size_t index = 0;
  std::string address{};     ///< client's address as address_of() groups it
  bool is_late = false;      ///< accepted after the server began to stop
  bool is_loopback = false;  ///< accepted on a loopback address
};

/// Used on the loop's thread only. Reading continues during a request, to notice that the client
/// leaves. The bytes read, up to kMaxAhead, belong to the next request.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Clock = std::chrono::steady_clock;

  /// tls: TLS over the socket; may be null.
  HttpConnection(boost::asio::io_context& io, std::unique_ptr<TlsStream> tls, ConnectionPlace place,
                 HttpConnections& owner);

  /// Takes over a socket of address family `family`. If it throws, the caller keeps the socket.
  void adopt(int family, int socket);
  void start() noexcept;
  /// Answers with 503 and closes, without reading.
  void refuse() noexcept;
  /// Closes now if idle, else after the running request.
  void drain() noexcept;
  /// Cancels the running request; its client gets an error.
  void cancel() noexcept;
  /// Closes, and ends the interest in the running request.
  void drop() noexcept;
  /// Closes or fails the connection if the current wait has timed out.
  void check_clock(Clock::time_point now) noexcept;

  /// Start of the wait for a request or the end of its header; nothing during a request.
  [[nodiscard]] std::optional<Clock::time_point> idle_since() const;
  [[nodiscard]] ConnectionPlace& place() { return place_; }

 private:
  friend class HttpExchange;
  using ErrorCode = boost::system::error_code;
  static constexpr size_t kMaxAhead = size_t{64} << 10;

  /// Phase that the timeout applies to.
  enum class Wait : uint8_t { Idle, Header, Body, Handler, Write, Linger };

  void wait(Wait what) noexcept;
  /// Runs `body`; an exception ends only this connection.
  template <typename Body>
  void guard(Body&& body) noexcept {
    fenced(std::forward<Body>(body), [this](Failure why) noexcept { fail(why); });
  }
  /// Sends the prepared answer without allocating, then closes.
  void fail(Failure why) noexcept;
  /// Reads from the socket, through TLS if present. Sets would_block if no bytes are available.
  size_t receive(std::vector<char>& buffer, ErrorCode& error);
  size_t transmit(std::string_view bytes, ErrorCode& error) noexcept;
  void read();
  void on_readable();
  void take(std::string_view bytes);
  void parse();
  bool take_header();
  void begin(bool is_whole);
  [[nodiscard]] std::optional<ApiError> refusal_of(const HttpRequest& request) const;
  void refuse_bytes(const ApiError& error);
  /// Queues `bytes`. Allocates only a list entry; throws before anything is written.
  void write(std::string bytes);
  void flush() noexcept;
  void flush_when_writable();
  void forget_outbox() noexcept;
  /// Called when the answer is complete.
  void end_exchange() noexcept;
  void close_gently() noexcept;
  void lose_exchange() noexcept;
  void post(Task& task) noexcept { owner_.post({shared_from_this(), &task}); }

  Socket socket_;
  std::unique_ptr<TlsStream> tls_;
  HttpConnections& owner_;
  ConnectionPlace place_;
  std::string inbox_;
  std::optional<RequestParser> parser_;
  std::shared_ptr<class HttpExchange> exchange_;
  std::deque<std::string> outbox_;
  size_t written_ = 0;  ///< written bytes of the first text in outbox_
  HeldBytes unsent_;    ///< bytes of outbox_ without those written
  // Allocated with the connection, so posting never allocates.
  Task drop_task_{[this] { drop(); }};
  Task flush_task_{[this] {
    is_writing_ = false;
    if (!has_ended_) flush();
  }};
  Task next_task_{[this] { guard([this] { parse(), read(); }); }};
  Task pending_task_{[this] {
    is_reading_ = false;
    if (!has_ended_) guard([this] { on_readable(); });
  }};
  Clock::time_point since_ = Clock::now();  ///< start of the current wait
  Clock::time_point deadline_{};
  Wait wait_ = Wait::Idle;
  bool keeps_alive_ = true;
  bool is_reading_ = false;
  bool is_writing_ = false;
  // Direction that TLS waits for; may be inverted during a handshake or key update.
  Socket::wait_type read_waits_for_ = Socket::wait_read;
  Socket::wait_type write_waits_for_ = Socket::wait_write;
  bool closes_after_write_ = false;
  bool has_failed_ = false;  ///< writing has failed for good
  bool has_ended_ = false;
  const uint64_t number_;  ///< unique number of the connection
};

}  // namespace tenon_http
