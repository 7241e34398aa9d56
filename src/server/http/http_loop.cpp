#include "server/http/http_loop.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <list>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "server/http/client_address.h"
#include "server/http/http_connection.h"
#include "server/http/http_head.h"
#include "server/http/sockets.h"

namespace tenon_http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kBreath = std::chrono::milliseconds(5);
constexpr int kAcceptsATurn = 16;

/// Removes a stale socket. A socket with a listener stays.
void remove_stale_socket(asio::io_context& io, const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode)) return;
  Local::socket probe(io);
  ErrorCode error;
  probe.connect(Local::endpoint(path), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

/// Keeps child processes from inheriting the port. Asio cannot create sockets with the flag, so a
/// process started in between still inherits it.
void keep_from_children(int socket) { (void)::fcntl(socket, F_SETFD, FD_CLOEXEC); }

/// True if a connection is pending at a listening socket.
bool has_waiting(int listening) {
  pollfd waiting{listening, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

/// Accepted descriptor until a connection owns it.
class Accepted {
 public:
  explicit Accepted(int listening) { fd_ = accept_socket(listening, peer_); }
  Accepted(const Accepted&) = delete;
  Accepted& operator=(const Accepted&) = delete;
  ~Accepted() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] const sockaddr_storage& peer() const { return peer_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  sockaddr_storage peer_{};
  int fd_ = -1;
};

}  // namespace

/// Listening socket, and whether an accept is pending.
template <typename Acceptor>
struct Door {
  Door(asio::io_context& io, const typename Acceptor::endpoint_type& endpoint, bool loopback)
      : acceptor(io, endpoint), is_loopback(loopback) {
    ErrorCode ignored;
    acceptor.non_blocking(true, ignored);
    keep_from_children(acceptor.native_handle());
  }
  Acceptor acceptor;
  bool is_loopback;  ///< loopback address
  bool is_armed = false;
};

class HttpLoop::State : public HttpConnections, public std::enable_shared_from_this<State> {
 public:
  State(HttpLimits limits, Admits admits, OnRequest on_request)
      : limits_(std::move(limits)),
        admits_(std::move(admits)),
        on_request_(std::move(on_request)),
        buffer_(size_t{64} << 10),
        budget_(std::make_shared<ByteBudget>(limits_.pending_bytes)) {
    for (const Failure why : {Failure::Memory, Failure::Defect}) {
      for (const ErrorShape shape : {ErrorShape::OpenAi, ErrorShape::Anthropic}) {
        const HttpAnswer answer = error_answer(error_of(why), shape);
        words_.at(place_of(why, shape)) = http_head(answer, {.keep_alive = false}) + answer.body;
      }
    }
  }

  [[nodiscard]] const HttpLimits& limits() const override { return limits_; }
  [[nodiscard]] bool is_draining() const override { return is_draining_; }
  std::vector<char>& buffer() override { return buffer_; }
  [[nodiscard]] const std::shared_ptr<ByteBudget>& budget() const override { return budget_; }
  [[nodiscard]] std::string_view last_words(Failure why, ErrorShape shape) const override {
    return words_.at(place_of(why, shape));
  }
  [[nodiscard]] bool admits(const HttpRequest& request) override {
    return !admits_ || admits_(request);
  }
  void on_request(const std::shared_ptr<Exchange>& exchange) override { on_request_(exchange); }

  void post(std::shared_ptr<Task> task) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push(std::move(task));
      if (is_woken_) return;
      is_woken_ = true;
    }
    // Without memory for the wake-up, the next tick runs the task.
    const bool is_told = fenced([this] { asio::post(io_, [this] { run_tasks(); }); });
    if (is_told) return;
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
  }

  void remove(HttpConnection& connection) noexcept override {
    const ConnectionPlace place = connection.place();
    if (place.is_late) --num_late_;
    --num_connections_;
    if (num_walks_ > 0) {
      connections_[place.index] = nullptr;
    } else {
      connections_.back()->place().index = place.index;
      std::swap(connections_[place.index], connections_.back());
      connections_.pop_back();
    }
    check_drained();
  }

  void listen_tcp(const std::string& host, uint16_t port) {
    try {
      Tcp::resolver resolver(io_);
      const auto found = resolver.resolve(host, std::to_string(port), Tcp::resolver::passive);
      const Tcp::endpoint endpoint = found.begin()->endpoint();
      const bool is_loopback = endpoint.address().is_loopback();
      port_ = tcp_.emplace_back(io_, endpoint, is_loopback).acceptor.local_endpoint().port();
      if (is_loopback) limits_.hosts.push_back(host);
    } catch (const boost::system::system_error& error) {
      throw ListenError("cannot listen on " + host + ":" + std::to_string(port) + ": " +
                        error.code().message());
    }
  }

  void listen_unix(const std::string& path) {
    try {
      remove_stale_socket(io_, path);
      local_.emplace_back(io_, Local::endpoint(path), false);
      paths_.push_back(path);
    } catch (const boost::system::system_error& error) {
      throw ListenError("cannot listen on " + path + ": " + error.code().message());
    }
  }

  void run() noexcept {
    const auto working = asio::make_work_guard(io_);
    while (!is_finished_) {
      const bool is_whole = fenced([this] {
        arm();
        io_.run();
      });
      // Handlers catch their own exceptions, so this exception is Asio's: out of memory. Wait for
      // some.
      if (is_whole) continue;
      std::this_thread::sleep_for(kBreath);
      look_around();
    }
    close_doors();
    drop_all();
  }

  void finish() noexcept {
    is_finished_ = true;
    io_.stop();
  }

  void drain(std::shared_ptr<Task> done) noexcept {
    is_draining_ = true;
    on_drained_ = std::move(done);
    for_each([](HttpConnection& each) { each.drain(); });
    check_drained();
  }
  void cancel_all() noexcept {
    for_each([](HttpConnection& each) { each.cancel(); });
  }
  void drop_all() noexcept {
    for_each([](HttpConnection& each) { each.drop(); });
  }

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] size_t num_connections() const { return num_connections_; }

 private:
  static size_t place_of(Failure why, ErrorShape shape) {
    return (why == Failure::Memory ? 0 : 2) + (shape == ErrorShape::OpenAi ? 0 : 1);
  }

  /// Starts every wait that is not pending; called again after memory was full.
  void arm() {
    for (auto& door : tcp_) arm(door);
    for (auto& door : local_) arm(door);
    if (!is_ticking_) tick();
  }

  /// Does the pending work without Asio, while no wait can be allocated.
  void look_around() noexcept {
    const auto look = [this](auto& door) {
      if (!door.is_armed && door.acceptor.is_open()) (void)fenced([&] { accept_some(door); });
    };
    for (auto& door : tcp_) look(door);
    for (auto& door : local_) look(door);
    if (!is_ticking_) check_clocks();
    (void)fenced([this] { io_.poll(); });
  }

  template <typename Acceptor>
  void arm(Door<Acceptor>& door) {
    if (door.is_armed || !door.acceptor.is_open()) return;
    door.acceptor.async_wait(Acceptor::wait_read, [this, &door](const ErrorCode& error) {
      door.is_armed = false;
      if (error || !door.acceptor.is_open()) return;
      // After a failure, such as a lack of descriptors, the next tick retries.
      if (fenced([&] { accept_some(door); })) (void)fenced([&] { arm(door); });
    });
    door.is_armed = true;
  }

  /// Accepts pending connections, up to the limit of a turn. Throws if descriptors or memory are
  /// short.
  template <typename Acceptor>
  void accept_some(Door<Acceptor>& door) {
    for (int i = 0; i < kAcceptsATurn; ++i) {
      Accepted accepted(door.acceptor.native_handle());
      const int error = errno;
      if (accepted.get() >= 0) {
        begin(accepted, door);
      } else if (error == EAGAIN || error == EWOULDBLOCK) {
        return;
      } else if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
        // Accept can report EMFILE even without a pending connection.
        if (!has_waiting(door.acceptor.native_handle())) return;
        // Close an idle connection to free its descriptor.
        HttpConnection* const idle = error == EMFILE ? idlest(nullptr) : nullptr;
        if (idle == nullptr) throw std::bad_alloc();
        idle->drop();
      }
    }
  }

  template <typename Acceptor>
  void begin(Accepted& accepted, const Door<Acceptor>& door) noexcept {
    fenced([&] { connect(accepted, door); },
           [&](Failure why) noexcept {
             if (accepted.get() < 0 || limits_.tls != nullptr) return;
             const std::string_view words = last_words(why, ErrorShape::OpenAi);
             (void)send_bytes(accepted.get(), words.data(), words.size());
             (void)::shutdown(accepted.get(), SHUT_WR);
           });
  }

  template <typename Acceptor>
  void connect(Accepted& accepted, const Door<Acceptor>& door) {
    constexpr bool kIsTcp = std::is_same_v<Acceptor, Tcp::acceptor>;
    const int yes = 1;
    if (kIsTcp) (void)::setsockopt(accepted.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const ClientAddress client = address_of(accepted.peer());
    const bool is_full = !make_room(client);
    std::unique_ptr<TlsStream> tls;
    if (kIsTcp && limits_.tls != nullptr) tls = limits_.tls->accept(accepted.get());
    if (connections_.size() == connections_.capacity()) {
      connections_.reserve(std::max<size_t>(16, 2 * connections_.size()));
    }
    const auto connection =
        std::make_shared<HttpConnection>(io_, std::move(tls),
                                         ConnectionPlace{.index = connections_.size(),
                                                         .address = client.text,
                                                         .is_late = is_draining_,
                                                         .is_loopback = door.is_loopback},
                                         *this);
    connection->adopt(accepted.peer().ss_family, accepted.get());
    accepted.release();
    connections_.push_back(connection);
    ++num_connections_;
    if (is_draining_) ++num_late_;
    is_full ? connection->refuse() : connection->start();
  }

  /// Makes room for a connection from `client`: closes the longest idle connection if the limit is
  /// reached. False if none is idle.
  bool make_room(const ClientAddress& client) {
    const size_t share = limits_.connections_per_address != 0 ? limits_.connections_per_address
                         : client.is_local                    ? limits_.connections
                                           : std::max<size_t>(limits_.connections / 2, 1);
    if (share >= limits_.connections && num_connections_ < limits_.connections) return true;
    size_t of_client = 0;
    for (const auto& each : connections_) {
      of_client += each != nullptr && each->place().address == client.text ? 1 : 0;
    }
    const bool has_share = of_client < share;
    if (has_share && num_connections_ < limits_.connections) return true;
    HttpConnection* const idle = idlest(has_share ? nullptr : &client.text);
    if (idle == nullptr) return false;
    idle->drop();
    return true;
  }

  /// Longest idle connection, of one address or of all; null if none is idle.
  [[nodiscard]] HttpConnection* idlest(const std::string* address) const {
    HttpConnection* found = nullptr;
    for (const auto& each : connections_) {
      if (each == nullptr || !each->idle_since()) continue;
      if (address != nullptr && each->place().address != *address) continue;
      if (found == nullptr || each->idle_since() < found->idle_since()) found = each.get();
    }
    return found;
  }

  /// Calls `ask` for each connection; `ask` may end any of them.
  template <typename Ask>
  void for_each(Ask ask) noexcept {
    ++num_walks_;
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (const auto connection = connections_[i]) ask(*connection);
    }
    if (--num_walks_ == 0) close_gaps();
  }

  void close_gaps() noexcept {
    size_t kept = 0;
    for (size_t i = 0; i < connections_.size(); ++i) {
      if (connections_[i] == nullptr) continue;
      connections_[i]->place().index = kept;
      if (kept != i) connections_[kept] = std::move(connections_[i]);
      ++kept;
    }
    connections_.resize(kept);
  }

  void run_tasks() noexcept {
    TaskList now;
    {
      const std::lock_guard lock(mutex_);
      is_woken_ = false;
      now.swap(tasks_);
    }
    while (const std::shared_ptr<Task> task = now.pop()) task->run();
  }

  void check_clocks() noexcept {
    const auto now = HttpConnection::Clock::now();
    for_each([now](HttpConnection& each) { each.check_clock(now); });
    run_tasks();
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](const ErrorCode& error) {
      is_ticking_ = false;
      if (error) return;
      check_clocks();
      (void)fenced([this] { arm(); });
      if (!is_ticking_) throw std::bad_alloc();  // run() arms it
    });
    is_ticking_ = true;
  }

  void close_doors() noexcept {
    ErrorCode ignored;
    for (auto& door : tcp_) door.acceptor.close(ignored);
    for (auto& door : local_) door.acceptor.close(ignored);
    for (const std::string& path : paths_) ::unlink(path.c_str());
    paths_.clear();
  }

  void check_drained() noexcept {
    if (num_connections_ <= num_late_ && on_drained_ != nullptr) {
      post(std::exchange(on_drained_, nullptr));
    }
  }

  asio::io_context io_{1};
  HttpLimits limits_;
  Admits admits_;
  OnRequest on_request_;
  std::vector<char> buffer_;
  std::shared_ptr<ByteBudget> budget_;
  std::array<std::string, 4> words_;
  std::list<Door<Tcp::acceptor>> tcp_;
  std::list<Door<Local::acceptor>> local_;
  std::vector<std::string> paths_;
  asio::steady_timer timer_{io_};
  bool is_ticking_ = false;
  std::vector<std::shared_ptr<HttpConnection>> connections_;
  size_t num_walks_ = 0;  ///< iterations of the list under way; removed entries stay as gaps
  size_t num_late_ = 0;   ///< connections accepted since drain()
  std::atomic<size_t> num_connections_{0};
  std::shared_ptr<Task> on_drained_;
  uint16_t port_ = 0;
  bool is_draining_ = false;
  std::atomic<bool> is_finished_{false};
  std::mutex mutex_;
  TaskList tasks_;
  bool is_woken_ = false;  ///< run_tasks() is posted
};

HttpLoop::HttpLoop(HttpLimits limits, Admits admits, OnRequest on_request)
    : state_(std::make_shared<State>(std::move(limits), std::move(admits), std::move(on_request))) {
}
HttpLoop::~HttpLoop() = default;

void HttpLoop::listen_tcp(const std::string& host, uint16_t port) {
  state_->listen_tcp(host, port);
}
void HttpLoop::listen_unix(const std::string& path) { state_->listen_unix(path); }
uint16_t HttpLoop::port() const { return state_->port(); }
void HttpLoop::post(std::shared_ptr<Task> task) noexcept { state_->post(std::move(task)); }
void HttpLoop::run() noexcept { state_->run(); }
void HttpLoop::finish() noexcept { state_->finish(); }
void HttpLoop::drain(std::shared_ptr<Task> done) noexcept { state_->drain(std::move(done)); }
void HttpLoop::cancel_all() noexcept { state_->cancel_all(); }
void HttpLoop::drop_all() noexcept { state_->drop_all(); }
size_t HttpLoop::num_connections() const { return state_->num_connections(); }

}  // namespace tenon_http
