#include "http_loop.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <set>

#include "http_connection.h"

namespace tenon_http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr uint64_t kTicksASecond = 10;

/// Removes a socket that a server has left behind. One on which something listens stays.
void remove_stale_socket(asio::io_context& io, const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return;
  Local::socket probe(io);
  ErrorCode error;
  probe.connect(Local::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

/// Processes that the host starts would keep the port, and clients' connections, after the server. Asio has no way to
/// make sockets so: between it and this a program may start all the same.
void keep_from_children(int socket) { (void)::fcntl(socket, F_SETFD, FD_CLOEXEC); }

}  // namespace

class HttpLoop::State : public HttpConnections, public std::enable_shared_from_this<State> {
 public:
  State(HttpLimits limits, OnRequest on_request)
      : limits_(std::move(limits)), on_request_(std::move(on_request)), buffer_(size_t{64} << 10) {}

  [[nodiscard]] const HttpLimits& limits() const override { return limits_; }
  [[nodiscard]] bool is_draining() const override { return is_draining_; }
  std::vector<char>& buffer() override { return buffer_; }
  void on_request(const std::shared_ptr<Exchange>& exchange) override { on_request_(exchange); }
  void post(std::function<void()> task) override { asio::post(io_, std::move(task)); }
  void remove(const std::shared_ptr<HttpConnection>& connection) override {
    connections_.erase(connection);
    late_.erase(connection);
    num_connections_ = connections_.size();
    check_drained();
  }

  void listen_tcp(const std::string& host, uint16_t port) {
    try {
      Tcp::resolver resolver(io_);
      const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive);
      Tcp::acceptor& acceptor = tcp_.emplace_back(io_, found.begin()->endpoint());
      keep_from_children(acceptor.native_handle());
      port_ = acceptor.local_endpoint().port();
    } catch (const boost::system::system_error& error) {
      throw ListenError("cannot listen on " + host + ":" + std::to_string(port) + ": " +
                        error.code().message());
    }
  }

  void listen_unix(const std::string& path) {
    try {
      remove_stale_socket(io_, path);
      keep_from_children(local_.emplace_back(io_, Local::endpoint(path)).native_handle());
      paths_.push_back(path);
    } catch (const boost::system::system_error& error) {
      throw ListenError("cannot listen on " + path + ": " + error.code().message());
    }
  }

  void run() {
    for (Tcp::acceptor& acceptor : tcp_) accept(acceptor);
    for (Local::acceptor& acceptor : local_) accept(acceptor);
    tick();
    const auto working = asio::make_work_guard(io_);
    io_.run();
    close_acceptors();
    drop_all();
  }

  void finish() { io_.stop(); }

  void drain(std::function<void()> done) {
    is_draining_ = true;
    on_drained_ = std::move(done);
    const auto connections = connections_;
    for (const auto& connection : connections) connection->drain();
    check_drained();
  }

  void cancel_all() {
    const auto connections = connections_;
    for (const auto& connection : connections) connection->cancel();
  }

  void drop_all() {
    const auto connections = connections_;
    for (const auto& connection : connections) connection->drop();
  }

  void every_second(std::function<void()> task) { every_second_ = std::move(task); }

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] size_t num_connections() const { return num_connections_; }

 private:
  template <typename Acceptor>
  void accept(Acceptor& acceptor) {
    using Socket = typename Acceptor::protocol_type::socket;
    acceptor.async_accept([this, &acceptor](const ErrorCode& error, Socket socket) {
      if (!acceptor.is_open()) return;
      if (!error) return begin(std::move(socket)), accept(acceptor);
      // No descriptor is free, or the client has gone: again with the next tick.
      retries_.push_back([this, &acceptor] { accept(acceptor); });
    });
  }

  template <typename Socket>
  void begin(Socket socket) {
    keep_from_children(socket.native_handle());
    if constexpr (std::is_same_v<Socket, Tcp::socket>) {
      ErrorCode ignored;
      socket.set_option(Tcp::no_delay(true), ignored);
    }
    std::unique_ptr<TlsStream> tls;
    if constexpr (std::is_same_v<Socket, Tcp::socket>) {
      if (limits_.tls != nullptr) tls = limits_.tls->accept(socket.native_handle());
    }
    const auto connection = std::make_shared<HttpConnection>(
        HttpConnection::Socket(std::move(socket)), std::move(tls), *this);
    const bool is_full = connections_.size() >= limits_.connections;
    connections_.insert(connection);
    if (is_draining_) late_.insert(connection);
    num_connections_ = connections_.size();
    if (is_full) return connection->refuse();
    connection->start();
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](const ErrorCode& error) {
      if (error) return;
      const auto now = HttpConnection::Clock::now();
      const auto connections = connections_;
      for (const auto& connection : connections) connection->check_clock(now);
      const auto retries = std::move(retries_);
      retries_.clear();
      for (const auto& retry : retries) retry();
      if (++num_ticks_ % kTicksASecond == 0 && every_second_) every_second_();
      tick();
    });
  }

  void close_acceptors() {
    ErrorCode ignored;
    for (Tcp::acceptor& acceptor : tcp_) acceptor.close(ignored);
    for (Local::acceptor& acceptor : local_) acceptor.close(ignored);
    for (const std::string& path : paths_) ::unlink(path.c_str());
    paths_.clear();
  }

  void check_drained() {
    if (connections_.size() > late_.size() || !on_drained_) return;
    const auto done = std::move(on_drained_);
    on_drained_ = nullptr;
    done();
  }

  asio::io_context io_{1};
  HttpLimits limits_;
  OnRequest on_request_;
  std::vector<char> buffer_;
  std::list<Tcp::acceptor> tcp_;
  std::list<Local::acceptor> local_;
  std::vector<std::string> paths_;
  std::vector<std::function<void()>> retries_;
  asio::steady_timer timer_{io_};
  uint64_t num_ticks_ = 0;
  std::function<void()> every_second_;
  std::set<std::shared_ptr<HttpConnection>> connections_;
  std::set<std::shared_ptr<HttpConnection>> late_;  ///< of these, what has come since drain()
  std::atomic<size_t> num_connections_{0};
  std::function<void()> on_drained_;
  uint16_t port_ = 0;
  bool is_draining_ = false;
};

HttpLoop::HttpLoop(HttpLimits limits, OnRequest on_request)
    : state_(std::make_shared<State>(std::move(limits), std::move(on_request))) {}
HttpLoop::~HttpLoop() = default;

void HttpLoop::listen_tcp(const std::string& host, uint16_t port) {
  state_->listen_tcp(host, port);
}
void HttpLoop::listen_unix(const std::string& path) { state_->listen_unix(path); }
uint16_t HttpLoop::port() const { return state_->port(); }
void HttpLoop::post(std::function<void()> task) { state_->post(std::move(task)); }
void HttpLoop::run() { state_->run(); }
void HttpLoop::every_second(std::function<void()> task) { state_->every_second(std::move(task)); }
void HttpLoop::finish() { state_->finish(); }
void HttpLoop::drain(std::function<void()> done) { state_->drain(std::move(done)); }
void HttpLoop::cancel_all() { state_->cancel_all(); }
void HttpLoop::drop_all() { state_->drop_all(); }
size_t HttpLoop::num_connections() const { return state_->num_connections(); }

}  // namespace tenon_http
