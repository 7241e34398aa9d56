// One connection: bytes to requests, answers to bytes, and its clocks. For http_loop.cpp, which owns
// it; routes see Exchange.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http_loop.h"

namespace tenon_http {

class HttpConnection;

/// What connections ask of the loop.
class HttpConnections {
 public:
  virtual ~HttpConnections() = default;
  [[nodiscard]] virtual const HttpLimits& limits() const = 0;
  [[nodiscard]] virtual bool is_draining() const = 0;
  /// For reading into; of all connections together.
  virtual std::vector<char>& buffer() = 0;
  virtual void on_request(const std::shared_ptr<Exchange>& exchange) = 0;
  virtual void post(std::function<void()> task) = 0;
  /// The connection has ended.
  virtual void remove(const std::shared_ptr<HttpConnection>& connection) = 0;
};

/// Used on the loop's thread alone. While a request is under way the connection goes on reading, so
/// that it sees the client go; what comes is kept up to kMaxAhead bytes and is the next request.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using Clock = std::chrono::steady_clock;

  /// tls: over the socket; null for none.
  HttpConnection(Socket socket, std::unique_ptr<TlsStream> tls, HttpConnections& owner);

  void start();
  /// Answers with 503 and ends, without reading.
  void refuse();
  /// Ends when no request is under way, else after it.
  void drain();
  /// Cancels the request under way, which is answered so.
  void cancel();
  /// Ends, and interest in the request under way.
  void drop();
  /// Looks whether the time for what the connection does is over.
  void check_clock(Clock::time_point now);

 private:
  friend class HttpExchange;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  static constexpr size_t kMaxAhead = size_t{64} << 10;

  /// What the clock is for.
  enum class Wait : uint8_t { Idle, Header, Body, Handler, Write, Linger };

  void wait(Wait what);
  /// As the socket's, through TLS where there is some: would_block when nothing can be done.
  size_t receive(std::vector<char>& buffer, boost::beast::error_code& error);
  size_t transmit(std::string_view bytes, boost::beast::error_code& error);
  void read();
  void on_readable();
  void take(std::string_view bytes);
  void parse();
  void begin(Parser& parser);
  void refuse_bytes(const boost::beast::error_code& error);
  void write(std::string bytes);
  void flush();
  /// The answer is complete.
  void end_exchange();
  void close_gently();
  void lose_exchange();

  Socket socket_;
  std::unique_ptr<TlsStream> tls_;
  HttpConnections& owner_;
  std::string inbox_;
  std::optional<Parser> parser_;
  std::shared_ptr<class HttpExchange> exchange_;
  std::deque<std::string> outbox_;
  size_t written_ = 0;  ///< of the first in outbox_
  size_t unsent_ = 0;
  Clock::time_point deadline_{};
  Wait wait_ = Wait::Idle;
  bool keeps_alive_ = true;
  bool is_reading_ = false;
  bool is_writing_ = false;
  // What TLS waits for, which may be the other way around (a handshake, new keys).
  Socket::wait_type read_waits_for_ = Socket::wait_read;
  Socket::wait_type write_waits_for_ = Socket::wait_write;
  bool closes_after_write_ = false;
  bool is_behind_ = false;   ///< the exchange waits until little is unsent
  bool has_failed_ = false;  ///< nothing can be written any more
  bool has_ended_ = false;
};

}  // namespace tenon_http
