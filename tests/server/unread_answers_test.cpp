// Clients that read late: the server pauses, continues when they catch up, and completes the
// answer.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/temp_folder.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

constexpr int kTokens = 400;

/// Stream larger than a local socket's buffer and the server's.
Value long_stream() {
  return capital_chat({{"max_tokens", kTokens},
                       {"ignore_eos", true},
                       {"stream", true},
                       {"logprobs", true},
                       {"top_logprobs", 20}});
}

/// Also tests a local socket, whose buffer the system does not grow.
class UnreadAnswers : public testing::Test {
 protected:
  UnreadAnswers() : server_({}, false) {
    EXPECT_EQ(tenon_server_listen_unix(server_.get(), path_.c_str()), TENON_OK);
    EXPECT_EQ(tenon_server_start(server_.get(), 0), TENON_OK);
  }

  /// Waits until the engine has generated all tokens of `answers` such streams.
  void wait_for_tokens(int answers) const {
    using Clock = std::chrono::steady_clock;
    const auto limit = Clock::now() + std::chrono::minutes(3);
    while (server_.metric("tenon_generated_tokens_total") < answers * kTokens) {
      ASSERT_LT(Clock::now(), limit) << "not generated";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  static void expect_whole(const Reply& reply) {
    ASSERT_EQ(reply.status, 200) << "the answer did not end";
    EXPECT_GT(reply.body.size(), size_t{1} << 19) << "more than the buffers on the way";
    const std::vector<Value> events = events_of(reply.body);
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back(), Value("[DONE]"));
    size_t tokens = 0;
    for (const Value& event : events) {
      if (!event.is_object() || event["choices"].empty()) continue;
      const Value& logprobs = event["choices"][0]["logprobs"];
      if (logprobs.is_object()) tokens += logprobs["content"].size();
    }
    EXPECT_EQ(tokens, static_cast<size_t>(kTokens));
  }

  const tenon::TempFolder folder_;
  const std::string path_ = folder_.path("socket");
  const RunningServer server_;
};

TEST_F(UnreadAnswers, EndWhenTheReaderCatchesUp) {
  HttpClient late(path_);
  ASSERT_TRUE(late.is_connected());
  late.send(HttpClient::text_of("POST", kChat, long_stream().dump()));
  ASSERT_NO_FATAL_FAILURE(wait_for_tokens(1));
  expect_whole(late.read(120));
  // The connection serves a second request, again read late.
  late.send(HttpClient::text_of("POST", kChat, long_stream().dump()));
  ASSERT_NO_FATAL_FAILURE(wait_for_tokens(2));
  expect_whole(late.read(120));
}

TEST_F(UnreadAnswers, WaitForOneReaderAndServeOthers) {
  HttpClient late(path_);
  late.send(HttpClient::text_of("POST", kChat, long_stream().dump()));
  ASSERT_NO_FATAL_FAILURE(wait_for_tokens(1));
  const Reply other = HttpClient(path_).post(kChat, capital_chat({{"max_tokens", 2}}));
  EXPECT_EQ(other.status, 200) << other.body;
  expect_whole(late.read(120));
}

TEST_F(UnreadAnswers, AreGivenUpWhenTheReaderLeaves) {
  {
    HttpClient gone(path_);
    gone.send(HttpClient::text_of("POST", kChat, long_stream().dump()));
    ASSERT_NO_FATAL_FAILURE(wait_for_tokens(1));
  }
  EXPECT_TRUE(eventually([&] { return server_.get("/slots").json()["data"].empty(); }));
  HttpClient next(path_);
  next.send(HttpClient::text_of("POST", kChat, long_stream().dump()));
  expect_whole(next.read(120));
}

}  // namespace
}  // namespace tenon_http::test
