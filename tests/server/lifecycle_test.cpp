// Server through its C interface: threads, sockets, keys, stopping.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

TEST(ServerLifecycle, RefusesWrongArguments) {
  tenon_server* server = nullptr;
  EXPECT_EQ(tenon_server_create(nullptr, nullptr), TENON_ERROR_ARGUMENT);
  tenon_server_options options{};
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), testing::HasSubstr("struct_size"));
  EXPECT_EQ(tenon_server_start(nullptr, 0), TENON_ERROR_ARGUMENT);
  ASSERT_EQ(tenon_server_create(nullptr, &server), TENON_OK);
  EXPECT_EQ(tenon_server_add_model(server, "", 0, demo_model().get(), nullptr, 0),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_add_model(server, "a", 1, nullptr, nullptr, 0), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_add_model(server, "a\0b", 3, demo_model().get(), nullptr, 0),
            TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), testing::HasSubstr("control character"));
  ASSERT_EQ(tenon_server_add_model(server, "a", 1, demo_model().get(), nullptr, 0), TENON_OK);
  EXPECT_EQ(tenon_server_add_model(server, "a", 1, demo_model().get(), nullptr, 0),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_listen_tcp(server, "not an address", 0, nullptr), TENON_ERROR_IO);
  EXPECT_EQ(tenon_server_listen_unix(server, "/nowhere/socket"), TENON_ERROR_IO);
  tenon_server_destroy(server);
  tenon_server_destroy(nullptr);
}

TEST(ServerLifecycle, OneThreadOfTheHostDoesAll) {
  const RunningServer server({}, false);
  std::thread host([&] { EXPECT_EQ(tenon_server_run(server.get()), TENON_OK); });
  const Reply reply = server.post("/v1/chat/completions", capital_chat());
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, testing::HasSubstr("Oslo"));
  EXPECT_EQ(tenon_server_stop(server.get(), 1), TENON_OK);
  host.join();
  EXPECT_FALSE(HttpClient(server.port()).is_connected());
}

TEST(ServerLifecycle, StopsWithoutHavingRun) {
  const RunningServer server({}, false);
  EXPECT_EQ(tenon_server_stop(server.get(), 1), TENON_OK);
  EXPECT_EQ(tenon_server_start(server.get(), 0), TENON_ERROR_STATE) << "it cannot run again";
  EXPECT_EQ(tenon_server_run(server.get()), TENON_OK) << "as one that was about to";
}

TEST(ServerLifecycle, IsStoppedByManyAtOnce) {
  for (int i = 0; i < 40; ++i) {
    const RunningServer server;
    std::vector<std::thread> stopping;
    for (int thread = 0; thread < 4; ++thread) {
      stopping.emplace_back(
          [&, thread] { EXPECT_EQ(tenon_server_stop(server.get(), thread), TENON_OK); });
    }
    for (std::thread& thread : stopping) thread.join();
  }
}

TEST(ServerLifecycle, StopWaitsForAnswersAndThenCancels) {
  const RunningServer server;
  HttpClient client(server.port());
  Value body = capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", true}});
  client.send(HttpClient::text_of("POST", "/v1/chat/completions", body.dump()));
  EXPECT_THAT(client.read_until("data: "), testing::HasSubstr("200 OK"));
  HttpClient idle(server.port());
  EXPECT_EQ(idle.request("GET", "/ready").status, 200);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(tenon_server_stop(server.get(), 0.2), TENON_OK);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 3);
  EXPECT_TRUE(client.is_closed_within(1));
  EXPECT_TRUE(idle.is_closed_within(1));
}

TEST(ServerLifecycle, WhoIsCancelledIsTold) {
  const RunningServer server;
  Value body = capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}});
  HttpClient whole(server.port());
  whole.send(HttpClient::text_of("POST", kChat, body.dump()));
  body["stream"] = true;
  HttpClient stream(server.port());
  stream.send(HttpClient::text_of("POST", kChat, body.dump()));
  EXPECT_THAT(stream.read_until("content"), testing::HasSubstr("200 OK"));
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  const std::string refused = whole.read_until("}}");
  EXPECT_THAT(refused, testing::HasSubstr("HTTP/1.1 503"));
  EXPECT_THAT(refused, testing::HasSubstr("Retry-After: 5"));
  EXPECT_THAT(refused, testing::HasSubstr("server_shutting_down"));
  EXPECT_THAT(stream.read_until("}}"), testing::HasSubstr("server_shutting_down"));
  EXPECT_TRUE(whole.is_closed_within(1));
  EXPECT_TRUE(stream.is_closed_within(1));
}

TEST(ServerLifecycle, TellsWhoComesThatItStops) {
  const tenon::Engine engine(demo_model());  // computes nothing, so the answer stays unfinished
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_add_engine(server.get(), "slow", 4, demo_model().get(), engine.get(), 0),
            TENON_OK);
  ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  HttpClient client(server.port());
  const Value body = capital_chat({{"model", "slow"}, {"stream", true}});
  client.send(HttpClient::text_of("POST", kChat, body.dump()));
  EXPECT_THAT(client.read_until("\r\n\r\n"), testing::HasSubstr("200 OK"));
  std::thread stopping([&] { EXPECT_EQ(tenon_server_stop(server.get(), 60), TENON_OK); });
  EXPECT_TRUE(eventually([&] { return server.get("/ready").status == 503; }));
  EXPECT_TRUE(eventually([&] { return server.get("/health").headers["connection"] == "close"; }));
  HttpClient half(server.port());  // the stop does not wait for it
  half.send("GET /ready HTTP/1.1\r\n");
  const Reply refused = server.post(kChat, capital_chat());
  EXPECT_EQ(refused.status, 503) << refused.body;
  EXPECT_EQ(refused.headers.at("retry-after"), "5");
  EXPECT_EQ(server.get("/health").status, 200);
  client.close();
  stopping.join();
  EXPECT_TRUE(half.is_closed_within(1));
  EXPECT_FALSE(HttpClient(server.port()).is_connected());
}

TEST(ServerLifecycle, AnswersOverAUnixSocket) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tenon-test-" + std::to_string(::getpid()));
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_listen_unix(server.get(), path.c_str()), TENON_OK);
  ASSERT_EQ(tenon_server_start(server.get(), 2), TENON_OK);
  EXPECT_EQ(HttpClient(path).request("GET", "/v1/models").status, 200);
  EXPECT_EQ(tenon_server_stop(server.get(), 1), TENON_OK);
  EXPECT_FALSE(std::filesystem::exists(path));
}

/// Number of this process's sockets that a child process would inherit.
size_t num_inherited_sockets() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string is = std::filesystem::read_symlink(entry, gone);
    const int flags = ::fcntl(std::stoi(entry.path().filename()), F_GETFD);
    if (is.starts_with("socket:") && flags >= 0 && (flags & FD_CLOEXEC) == 0) ++count;
  }
  return count;
}

TEST(ServerLifecycle, ProgramsThatTheHostStartsGetNoSocket) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tenon-inherit-" + std::to_string(::getpid()));
  const size_t before = num_inherited_sockets();
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_listen_unix(server.get(), path.c_str()), TENON_OK);
  ASSERT_EQ(tenon_server_start(server.get(), 2), TENON_OK);
  HttpClient tcp(server.port());
  HttpClient local(path);
  EXPECT_EQ(tcp.request("GET", "/ready").status, 200);
  EXPECT_EQ(local.request("GET", "/ready").status, 200);
  EXPECT_EQ(num_inherited_sockets(), before);
}

TEST(ServerLifecycle, AsksForKeys) {
  tenon_server_options options{};
  const std::string keys = "secret\n";
  options.api_keys = keys.c_str();
  options.api_keys_length = keys.size();
  const RunningServer server(options);
  EXPECT_EQ(server.get("/health").status, 200);
  const Reply reply = server.get("/v1/models");
  EXPECT_EQ(reply.status, 401);
  EXPECT_EQ(reply.error()["code"], "invalid_api_key");
  HttpClient page(server.port());
  const Reply to_page = page.request("GET", "/v1/models", "", "Origin: http://localhost:3000\r\n");
  EXPECT_EQ(to_page.status, 401);
  EXPECT_EQ(to_page.headers.at("access-control-allow-origin"), "http://localhost:3000");
  HttpClient client(server.port());
  EXPECT_EQ(client.request("GET", "/v1/models", "", "Authorization: bearer secret\r\n").status,
            200);
  EXPECT_EQ(client.request("GET", "/v1/models?api_key=secret").status, 401);
}

TEST(ServerLifecycle, ServesAnEngineOfTheHosts) {
  tenon::Engine engine(demo_model());
  std::thread computing([&] { engine.run(); });
  {
    RunningServer server({}, false);
    ASSERT_EQ(
        tenon_server_add_engine(server.get(), "shared", 6, demo_model().get(), engine.get(), 0),
        TENON_OK);
    ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
    const Reply reply = server.post("/v1/chat/completions", capital_chat({{"model", "shared"}}));
    EXPECT_THAT(reply.body, testing::HasSubstr("Oslo"));
    EXPECT_EQ(server.post("/v1/chat/completions", capital_chat({{"model", nullptr}})).status, 400);
    EXPECT_THAT(server.get("/metrics").body, testing::HasSubstr("model_name=\"shared\""));
  }
  engine.stop();
  computing.join();
}

TEST(ServerLifecycle, AStreamOfAChatBeginsWithItsFirstToken) {
  tenon::Engine engine(demo_model());
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_add_engine(server.get(), "late", 4, demo_model().get(), engine.get(), 0),
            TENON_OK);
  ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  HttpClient client(server.port());
  const Value body = capital_chat({{"model", "late"}, {"stream", true}});
  client.send(HttpClient::text_of("POST", "/v1/chat/completions", body.dump()));
  EXPECT_THAT(client.read_until("\r\n\r\n"), testing::HasSubstr("200 OK"));
  EXPECT_THAT(client.read_until("data: ", 0.2), testing::Not(testing::HasSubstr("data: ")));
  std::thread computing([&] { engine.run(); });
  EXPECT_THAT(client.read_until("data: [DONE]"), testing::HasSubstr("\"role\":\"assistant\""));
  EXPECT_EQ(tenon_server_stop(server.get(), 1), TENON_OK);
  engine.stop();
  computing.join();
}

TEST(ServerLifecycle, IsReadyWithAModel) {
  tenon_server* server = nullptr;
  uint16_t port = 0;
  ASSERT_EQ(tenon_server_create(nullptr, &server), TENON_OK);
  ASSERT_EQ(tenon_server_listen_tcp(server, "127.0.0.1", 0, &port), TENON_OK);
  ASSERT_EQ(tenon_server_start(server, 0), TENON_OK);
  const Reply reply = HttpClient(port).request("GET", "/ready");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.headers.contains("retry-after"));
  EXPECT_EQ(HttpClient(port).request("GET", "/health").status, 200);
  tenon_server_destroy(server);
  EXPECT_EQ(RunningServer().get("/ready").json()["models"], Value::array({"demo"}));
}

}  // namespace
}  // namespace tenon_http::test
