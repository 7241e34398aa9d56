// Connections that are numerous, slow, greedy or silent, and targets that try to escape: other
// clients are served meanwhile.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/processor_time.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

/// Raises the limit on descriptors to `count`; false if refused.
bool raise_descriptors(rlim_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur >= count) return true;
  if (limit.rlim_max < count) return false;
  limit.rlim_cur = count;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

double resident_megabytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

void expect_served(const RunningServer& server) {
  const Reply reply = server.post(kChat, capital_chat({{"max_tokens", 2}}));
  EXPECT_EQ(reply.status, 200) << reply.body;
}

TEST(HostileConnections, WithoutDescriptorsTheLongestIdleOneMakesRoom) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  tenon_server_options options{};
  options.idle_seconds = 1000;
  const RunningServer server(options);
  HttpClient first(server.port());
  ASSERT_EQ(first.request("GET", "/health").status, 200);
  const rlimit few{.rlim_cur = std::min<rlim_t>(before.rlim_cur, 1024),
                   .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> taken;
  for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) taken.push_back(fd);
  ASSERT_FALSE(taken.empty());
  ::close(taken.back());
  taken.pop_back();
  // Takes the last descriptor, so that the server must close the first connection.
  HttpClient second(server.port());
  second.send(HttpClient::text_of("GET", "/health", ""));
  const int status = second.read(60).status;
  for (const int fd : taken) ::close(fd);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(status, 200);
  EXPECT_TRUE(first.is_closed_within(60));
}

TEST(HostileConnections, TwoThousandHalfOpenOnesStopNoOne) {
  constexpr int kCount = 2000;
  if (!raise_descriptors(2 * kCount + 200)) GTEST_SKIP() << "too few descriptors are allowed here";
  const RunningServer server;
  expect_served(server);
  const double before = resident_megabytes();
  std::deque<HttpClient> clients;
  for (int i = 0; i < kCount; ++i) {
    HttpClient& client = clients.emplace_back(server.port());
    ASSERT_TRUE(client.is_connected()) << i;
    const char* kinds[] = {"", "POST /v1/chat", "POST /v1/chat/completions HTTP/1.1\r\nX-A: ",
                           "POST /v1/messages HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"};
    client.send(kinds[i % 4]);
  }
  expect_served(server);
  EXPECT_LT(resident_megabytes() - before, 64) << "32 kB each";
}

TEST(HostileConnections, AClientThatNeverReadsIsLeftAndItsAnswerCancelled) {
  tenon_server_options options{};
  options.write_seconds = 0.5;
  const RunningServer server(options);
  // An answer larger than the system's buffers: many choices with logprobs.
  const Value body = capital_chat({{"max_tokens", 1900},
                                   {"ignore_eos", true},
                                   {"stream", true},
                                   {"n", 8},
                                   {"logprobs", true},
                                   {"top_logprobs", 20}});
  const double before = resident_megabytes();
  HttpClient greedy(server.port());
  greedy.send(HttpClient::text_of("POST", kChat, body.dump()));
  for (int i = 0; i < 3; ++i) expect_served(server);
  size_t under_way = 1;
  for (int i = 0; i < 1000 && under_way > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    under_way = server.get("/slots").json()["data"].size();
  }
  EXPECT_EQ(under_way, 0u);
  // A sanitizer holds freed memory back.
  if (!tenon::kSanitized) {
    EXPECT_LT(resident_megabytes() - before, 100);
  }
  expect_served(server);
}

TEST(HostileConnections, PipelinedRequestsWithoutEndAreBounded) {
  const RunningServer server;
  const double before = resident_megabytes();
  HttpClient client(server.port());
  // While the first answer runs, 64 KiB of further requests are kept, and reading pauses.
  const Value body = capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", true}});
  client.send(HttpClient::text_of("POST", kChat, body.dump()));
  client.read_until("data: ");
  std::thread flooding([&] {
    const std::string many(1 << 20, ' ');
    const std::string request = HttpClient::text_of("GET", "/health", "", "X: " + many + "\r\n");
    for (int i = 0; i < 64 && client.send(request); ++i) {
    }
  });
  expect_served(server);
  EXPECT_LT(resident_megabytes() - before, 64);
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  flooding.join();
}

TEST(HostileConnections, AnotherRequestFollowsARefusedOne) {
  const RunningServer server;
  HttpClient client(server.port());
  for (const char* body : {"{", R"({"model":"nothing"})", R"({"model":"demo","messages":5})"}) {
    const Reply reply = client.request("POST", kChat, body);
    EXPECT_TRUE(reply.status == 400 || reply.status == 404) << reply.body;
    EXPECT_EQ(reply.headers.at("connection"), "keep-alive");
  }
  EXPECT_EQ(client.request("GET", "/nothing").status, 404);
  EXPECT_EQ(client.post(kChat, capital_chat({{"max_tokens", 2}})).status, 200);
}

TEST(HostilePaths, LeadNowhereElse) {
  const RunningServer server;
  for (const char* target : {"/..",
                             "/../",
                             "/page/../../etc/passwd",
                             "/page/..%2f..%2fetc%2fpasswd",
                             "/page/%2e%2e/main.js",
                             "/page//main.js",
                             "//health",
                             "/./health",
                             "/health/",
                             "/health%00",
                             "/HEALTH",
                             "/v1/models/",
                             "/v1/models/..",
                             "/v1/models/%00",
                             "/v1/models/demo/../demo",
                             "/v1/models/demo%0d%0aX:1",
                             "/v1//models",
                             "/%",
                             "/%zz",
                             "/%c0%ae%c0%ae/",
                             "*",
                             "http://evil.example/health",
                             "\\..\\x",
                             "/metrics;x",
                             "/v1/models/demo/load",
                             "/slots/1"}) {
    const Reply reply = HttpClient(server.port()).request("GET", target);
    EXPECT_TRUE(reply.status == 400 || reply.status == 404 || reply.status == 405)
        << target << ": " << reply.status << " " << reply.body;
    EXPECT_EQ(reply.headers.count("x"), 0u) << target;
  }
  expect_served(server);
}

TEST(HostilePaths, MethodsThatAreNotServedAre405Or400) {
  const RunningServer server;
  for (const char* method :
       {"PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "get", "G@T"}) {
    const Reply reply = HttpClient(server.port()).request(method, "/health");
    EXPECT_TRUE(reply.status == 405 || reply.status == 400 || reply.status == 404)
        << method << " " << reply.status;
  }
  expect_served(server);
}

}  // namespace
}  // namespace tenon_http::test
