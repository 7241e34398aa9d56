// Hostile clients and listeners that must not block the server: bodies, unread answers,
// connections, an unread log, a silent collector.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "server/http/byte_budget.h"
#include "server/http/client_address.h"
#include "server/http_server.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string post_head(const std::string& path, const std::string& headers, size_t length) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\n" + headers +
         "Content-Length: " + std::to_string(length) + "\r\n\r\n";
}

/// Server without models.
class BareServer {
 public:
  explicit BareServer(ServerOptions options = {}) : server(std::move(options)) {
    port = server.listen_tcp("127.0.0.1", 0);
    server.start(2);
  }
  HttpServer server;
  uint16_t port = 0;
};

TEST(Bodies, AreRefusedByTheirHeaderAlone) {
  tenon_server_options options{};
  const std::string keys = "secret anna\n";
  options.api_keys = keys.data();
  options.api_keys_length = keys.size();
  const RunningServer server(options);
  const struct {
    std::string path;
    std::string headers;
    int status;
  } cases[] = {{kChat, "", 401},
               {kChat, "Authorization: Bearer wrong\r\n", 401},
               {"/v1/messages", "x-api-key: wrong\r\nExpect: 100-continue\r\n", 401},
               {"/nothing", "x-api-key: secret\r\n", 404},
               {"/slots", "x-api-key: secret\r\n", 405},
               {kChat, "x-api-key: secret\r\nContent-Encoding: gzip\r\n", 415},
               {kChat, "x-api-key: secret\r\nOrigin: https://evil.example\r\n", 403}};
  for (const auto& each : cases) {
    HttpClient client(server.port());
    client.send(post_head(each.path, each.headers, 1 << 20));  // without the body
    const Reply reply = client.read(60);
    EXPECT_EQ(reply.status, each.status) << each.path << " " << each.headers;
    EXPECT_EQ(reply.headers.at("connection"), "close");
    EXPECT_TRUE(client.is_closed_within(60));
  }
  HttpClient client(server.port());
  client.send(post_head(kChat, "x-api-key: secret\r\nExpect: 100-continue\r\n", 2));
  EXPECT_THAT(client.read_until("\r\n\r\n", 60), testing::StartsWith("HTTP/1.1 100 "));
  client.send("{}");
  EXPECT_EQ(client.read(60).status, 400);
}

TEST(Bodies, ShareOneBudget) {
  ServerOptions options;
  options.http.pending_bytes = size_t{4} << 20;
  BareServer bare(std::move(options));
  const std::string half((size_t{1} << 20) + (size_t{1} << 19), ' ');
  std::deque<HttpClient> holding;
  int refused = 0;
  for (int i = 0; i < 6; ++i) {
    HttpClient& client = holding.emplace_back(bare.port);
    client.send(post_head("/tokenize", "", half.size() + 1));
    client.send(half);
  }
  for (HttpClient& client : holding) {
    const Reply reply = client.read(1);
    refused += reply.status == 503 ? 1 : 0;
    EXPECT_EQ(reply.headers.contains("retry-after"), reply.status == 503);
  }
  EXPECT_GE(refused, 3);
  EXPECT_LT(refused, 6) << "those within the budget wait for their last byte";
  EXPECT_EQ(HttpClient(bare.port).request("GET", "/health").status, 200);
  // An announced length holds no budget, and released bytes are free again.
  holding.clear();
  for (int i = 0; i < 20; ++i) {
    holding.emplace_back(bare.port).send(post_head("/tokenize", "", size_t{30} << 20));
  }
  EXPECT_TRUE(eventually([&] {
    HttpClient client(bare.port);
    client.send(post_head("/tokenize", "", half.size()));
    client.send(half);
    return client.read(60).status == 400;  // 400: no JSON
  }));
}

TEST(Bodies, BudgetCountsWhatIsHeld) {
  const auto budget = std::make_shared<ByteBudget>(100);
  HeldBytes one(budget);
  EXPECT_TRUE(one.grow(60));
  {
    HeldBytes two(budget);
    EXPECT_FALSE(two.grow(41));
    EXPECT_TRUE(two.grow(40));
    EXPECT_TRUE(budget->is_full());
    HeldBytes moved = std::move(two);
    EXPECT_EQ(moved.size(), 40u);
    EXPECT_EQ(two.size(), 0u);
  }
  EXPECT_FALSE(budget->is_full());
  one.shrink(60);
  EXPECT_TRUE(one.grow(100));
  EXPECT_FALSE(one.grow(1));
  one.grow_anyway(1);
  EXPECT_FALSE(one.grow(SIZE_MAX));
}

TEST(Connections, ThatWaitMakeRoomForNewOnes) {
  ServerOptions options;
  options.http.connections = 3;
  BareServer bare(std::move(options));
  std::deque<HttpClient> clients;
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(clients.emplace_back(bare.port).request("GET", "/health").status, 200) << i;
  }
  EXPECT_TRUE(clients.front().is_closed_within(60));
  EXPECT_EQ(clients.back().request("GET", "/health").status, 200);
  // Slow headers count as idle; connections inside a body keep their place.
  std::deque<HttpClient> busy;
  for (int i = 0; i < 3; ++i) {
    busy.emplace_back(bare.port).send("GET /health HTTP/1.1\r\nHost: ");
  }
  EXPECT_TRUE(
      eventually([&] { return HttpClient(bare.port).request("GET", "/health").status == 200; }));
}

TEST(Connections, OfOneAddressHaveALimit) {
  ServerOptions options;
  options.http.connections = 100;
  options.http.connections_per_address = 2;
  BareServer bare(std::move(options));
  std::deque<HttpClient> busy;
  for (int i = 0; i < 2; ++i) {
    HttpClient& client = busy.emplace_back(bare.port);
    client.send(post_head("/tokenize", "Expect: 100-continue\r\n", 10));
    client.read_until("\r\n\r\n", 60);
  }
  const Reply reply = HttpClient(bare.port).request("GET", "/health");
  EXPECT_EQ(reply.status, 503);
  busy.pop_front();
  EXPECT_TRUE(
      eventually([&] { return HttpClient(bare.port).request("GET", "/health").status == 200; }));
}

TEST(Connections, AddressesCountByNetwork) {
  const auto address = [](const char* text) {
    sockaddr_storage peer{};
    if (in6_addr v6{}; ::inet_pton(AF_INET6, text, &v6) == 1) {
      sockaddr_in6 of{};
      of.sin6_family = AF_INET6;
      of.sin6_addr = v6;
      std::memcpy(&peer, &of, sizeof of);
    } else {
      sockaddr_in of{};
      of.sin_family = AF_INET;
      ::inet_pton(AF_INET, text, &of.sin_addr);
      std::memcpy(&peer, &of, sizeof of);
    }
    return address_of(peer);
  };
  EXPECT_EQ(address("2001:db8:1:2::1").text, address("2001:db8:1:2:ffff::9").text);
  EXPECT_NE(address("2001:db8:1:2::1").text, address("2001:db8:1:3::1").text);
  EXPECT_EQ(address("::ffff:192.0.2.1").text, address("192.0.2.1").text);
  EXPECT_NE(address("192.0.2.1").text, address("192.0.2.2").text);
  EXPECT_TRUE(address("127.0.0.1").is_local);
  EXPECT_TRUE(address("::1").is_local);
  EXPECT_FALSE(address("192.0.2.1").is_local);
  EXPECT_TRUE(address_of({}).is_local) << "a Unix socket";
}

/// Host whose log callback blocks until released.
struct StuckHost {
  static void log(void* user, uint32_t, const char* text, size_t length) {
    auto& host = *static_cast<StuckHost*>(user);
    std::unique_lock lock(host.mutex);
    host.lines.emplace_back(text, length);
    ++host.num_calls;
    host.changed.wait(lock, [&] { return host.is_free; });
  }
  void free() {
    const std::lock_guard lock(mutex);
    is_free = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
  int num_calls = 0;
  bool is_free = false;
};

TEST(Logs, ThatNobodyTakesStopNothing) {
  // Outlives the server: the stop abandons the running callback.
  static StuckHost host;
  ServerOptions options;
  options.log = ServerLog(StuckHost::log, &host, TENON_LOG_DEBUG);
  const ServerLog log = options.log;
  {
    BareServer bare(std::move(options));
    HttpClient client(bare.port);
    for (int i = 0; i < 6000; ++i) {
      ASSERT_EQ(client.request("GET", "/health").status, 200) << i;
    }
    EXPECT_TRUE(eventually([&] { return log.num_dropped() > 0; })) << "the list has an end";
    const auto start = Clock::now();
    bare.server.stop(0);
    EXPECT_LT(seconds_since(start), 60);
  }
  host.free();
  // The abandoned thread makes no more callbacks.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const std::lock_guard lock(host.mutex);
  EXPECT_EQ(host.num_calls, 1);
}

TEST(Logs, TellHowManyLinesWereDropped) {
  StuckHost host;
  const ServerLog log(StuckHost::log, &host, TENON_LOG_DEBUG);
  log.start();
  for (int i = 0; i < 5000; ++i) log.write(TENON_LOG_INFO, "line", {{"number", i}});
  EXPECT_GT(log.num_dropped(), 0u);
  host.free();
  log.stop(Clock::now() + std::chrono::minutes(2));
  EXPECT_EQ(host.lines.size() - 1, 5000 - log.num_dropped());
  EXPECT_EQ(std::count_if(host.lines.begin(), host.lines.end(),
                          [&](const std::string& line) {
                            const Value told = Value::parse(line);
                            return told["event"] == "log lines dropped" &&
                                   told["count"] == log.num_dropped();
                          }),
            1);
}

/// Accepts connections and sends an occasional byte, or nothing.
class SlowCollector {
 public:
  SlowCollector() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(fd_, 16);
    socklen_t size = sizeof address;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      while (!is_over_) {
        pollfd waiting{fd_, POLLIN, 0};
        if (::poll(&waiting, 1, 100) == 1) taken_.push_back(::accept(fd_, nullptr, nullptr));
        num_taken_ = taken_.size();
        for (const int each : taken_) (void)::send(each, "H", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    });
  }
  ~SlowCollector() {
    is_over_ = true;
    thread_.join();
    for (const int each : taken_) ::close(each);
    ::close(fd_);
  }
  [[nodiscard]] std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] size_t num_taken() const { return num_taken_; }

 private:
  int fd_;
  uint16_t port_ = 0;
  std::atomic<bool> is_over_{false};
  std::atomic<size_t> num_taken_{0};
  std::vector<int> taken_;
  std::thread thread_;
};

TEST(Traces, ThatNobodyTakesStopNothing) {
  SlowCollector collector;
  const std::string address = collector.address();
  tenon_server_options options{};
  options.otlp_address = address.c_str();
  const RunningServer server(options);
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(server.post(kChat, capital_chat({{"max_tokens", 1}})).status, 200);
    return collector.num_taken() > 0;
  }));
  const auto start = Clock::now();
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  // The server needs half a second; the collector would block it for minutes.
  EXPECT_LT(seconds_since(start), 20);
}

}  // namespace
}  // namespace tenon_http::test
