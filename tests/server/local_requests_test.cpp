// Requests of the host process: answers equal those of clients, without a socket.
#include <gmock/gmock.h>

#include <atomic>
#include <string>
#include <thread>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct LocalReply {
  int32_t status = 0;
  std::string type, headers, body;
};

/// Local request of the test.
class LocalCall {
 public:
  LocalCall(tenon_server* server, const char* method, const char* target, const Value& body = {},
            tenon_notify_callback notify = nullptr, void* user = nullptr) {
    const std::string text = body.dump();
    const tenon_server_request request{.struct_size = sizeof request,
                                       .reserved = 0,
                                       .method = method,
                                       .target = target,
                                       .body = text.data(),
                                       .body_length = text.size(),
                                       .api_key = nullptr,
                                       .notify = notify,
                                       .user = user};
    submitted = tenon_server_submit(server, &request, &raw_);
  }
  ~LocalCall() { tenon_server_call_destroy(raw_); }
  LocalCall(const LocalCall&) = delete;
  LocalCall& operator=(const LocalCall&) = delete;

  tenon_status wait(double seconds, tenon_server_part& part) const {
    part = {};
    part.struct_size = sizeof part;
    return tenon_server_call_wait(raw_, seconds, &part);
  }

  /// Waits for the whole answer.
  [[nodiscard]] LocalReply reply() const {
    LocalReply reply;
    tenon_server_part part{};
    do {
      if (wait(-1, part) != TENON_OK) break;
      reply.status = part.http_status;
      reply.type = part.content_type;
      reply.headers = part.headers;
      reply.body.append(part.bytes, part.length);
    } while (part.is_last == 0);
    return reply;
  }

  tenon_status submitted = TENON_OK;

 private:
  tenon_server_call* raw_ = nullptr;
};

/// Body without the members that differ between two answers to one request.
Value without_ids(const std::string& body) {
  Value value = Value::parse(body);
  value.erase("id");
  value.erase("created");
  value.erase("timings");
  return value;
}

class LocalRequests : public ServerTest {};

TEST_F(LocalRequests, NotesAreInTheHeaders) {
  const LocalCall call(server().get(), "POST", "/v1/responses",
                       {{"model", "demo"},
                        {"input", "Hi"},
                        {"max_output_tokens", 1},
                        {"tools", {{{"type", "web_search"}}}}});
  const LocalReply reply = call.reply();
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.headers, HasSubstr("\nTenon-Notes: "));
  EXPECT_EQ(Value::parse(reply.body)["usage"]["input_tokens_details"]["cache_write_tokens"], 0);
}

TEST_F(LocalRequests, AreAnsweredAsThoseOfClients) {
  const Value chat = capital_chat({{"seed", 1}, {"echo_repair", false}});
  (void)server().post(kChat, chat);  // computes the prompt, so that both find it cached
  const Reply client = server().post(kChat, chat);
  const LocalReply local = LocalCall(server().get(), "POST", kChat, chat).reply();
  EXPECT_EQ(local.status, 200) << local.body;
  EXPECT_EQ(local.type, "application/json");
  EXPECT_THAT(local.headers, StartsWith("X-Request-Id: "));
  EXPECT_EQ(without_ids(local.body)["choices"], without_ids(client.body)["choices"]);
  EXPECT_EQ(LocalCall(server().get(), "GET", "/v1/models").reply().body,
            server().get("/v1/models").body);
}

TEST_F(LocalRequests, ErrorsAreAnswers) {
  const LocalReply wrong =
      LocalCall(server().get(), "POST", kChat, capital_chat({{"temperature", "hot"}})).reply();
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(Value::parse(wrong.body)["error"]["param"], "temperature");
  EXPECT_EQ(LocalCall(server().get(), "GET", "/nothing").reply().status, 404);
  EXPECT_EQ(LocalCall(server().get(), "GET", kChat).reply().status, 405);
}

TEST_F(LocalRequests, StreamEvents) {
  std::atomic<int> told{0};
  const LocalCall call(
      server().get(), "POST", kChat, capital_chat({{"stream", true}}),
      [](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &told);
  const LocalReply reply = call.reply();
  EXPECT_EQ(reply.type, "text/event-stream");
  EXPECT_THAT(reply.body, StartsWith("data: {"));
  EXPECT_THAT(reply.body, EndsWith("data: [DONE]\n\n"));
  EXPECT_GT(told, 0);
  tenon_server_part part{};
  EXPECT_EQ(call.wait(0, part), TENON_OK);  // the end is reported again
  EXPECT_EQ(part.is_last, 1u);
  EXPECT_EQ(part.length, 0u);
}

TEST_F(LocalRequests, WhatIsNotTakenMakesTheAnswerWait) {
  // Log-probabilities of 20 tokens per event make the answer exceed 256 KiB.
  const LocalCall call(server().get(), "POST", kChat,
                       capital_chat({{"stream", true},
                                     {"max_tokens", 1000},
                                     {"ignore_eos", true},
                                     {"logprobs", true},
                                     {"top_logprobs", 20}}));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  tenon_server_part part{};
  ASSERT_EQ(call.wait(-1, part), TENON_OK);
  EXPECT_LT(part.length, size_t{300} << 10);
  const LocalReply rest = call.reply();
  EXPECT_GT(part.length + rest.body.size(), size_t{400} << 10);
  EXPECT_THAT(rest.body, EndsWith("data: [DONE]\n\n"));
}

TEST_F(LocalRequests, AreCancelledByDestroying) {
  {
    const LocalCall call(
        server().get(), "POST", kChat,
        capital_chat({{"stream", true}, {"max_tokens", 1900}, {"ignore_eos", true}}));
    tenon_server_part part{};
    ASSERT_EQ(call.wait(-1, part), TENON_OK);
  }
  // The rest of the answer would take longer than this.
  const auto num_under_way = [] {
    return Value::parse(server().get("/slots").body).at("data").size();
  };
  for (int i = 0; i < 10 && num_under_way() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(num_under_way(), 0u);
}

TEST(LocalRequestsAtTheEnd, StopWaitsForThem) {
  const RunningServer server;
  const LocalCall quick(server.get(), "POST", kChat, capital_chat({{"stream", true}}));
  tenon_server_part part{};
  ASSERT_EQ(quick.wait(-1, part), TENON_OK);  // it has begun
  EXPECT_EQ(part.http_status, 200);
  std::string body(part.bytes, part.length);
  const bool has_ended = part.is_last != 0;
  EXPECT_EQ(tenon_server_stop(server.get(), 60), TENON_OK);
  if (!has_ended) body += quick.reply().body;
  EXPECT_THAT(body, HasSubstr("[DONE]"));
}

TEST(LocalRequestsAtTheEnd, StopCancelsThemWhenItsTimeIsOver) {
  const RunningServer server;
  const LocalCall endless(
      server.get(), "POST", kChat,
      capital_chat({{"stream", true}, {"max_tokens", 1900}, {"ignore_eos", true}}));
  tenon_server_part part{};
  ASSERT_EQ(endless.wait(-1, part), TENON_OK);
  EXPECT_EQ(tenon_server_stop(server.get(), 0.1), TENON_OK);
  EXPECT_EQ(endless.wait(-1, part), TENON_ERROR_CANCELLED);
  EXPECT_EQ(LocalCall(server.get(), "GET", "/health").submitted, TENON_ERROR_STATE);
}

TEST(LocalRequestsAtTheEnd, OfAServerThatNeverRanAreCancelled) {
  const RunningServer server({}, false);
  const LocalCall call(server.get(), "GET", "/health");
  tenon_server_part part{};
  EXPECT_EQ(call.wait(0.01, part), TENON_OK);
  EXPECT_EQ(part.http_status, 0);
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  EXPECT_EQ(call.wait(-1, part), TENON_ERROR_CANCELLED);
}

TEST(LocalRequestsAtTheEnd, NeedAKeyWhereTheServerAsksForOne) {
  tenon_server_options options{};
  options.api_keys = "secret";
  options.api_keys_length = 6;
  const RunningServer server(options);
  EXPECT_EQ(LocalCall(server.get(), "GET", "/v1/models").reply().status, 401);
  EXPECT_EQ(LocalCall(server.get(), "GET", "/health").reply().status, 200);
}

TEST(LocalRequestsAtTheEnd, RefuseWrongArguments) {
  const RunningServer server;
  tenon_server_call* call = nullptr;
  tenon_server_request request{};
  EXPECT_EQ(tenon_server_submit(server.get(), nullptr, &call), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_submit(server.get(), &request, &call), TENON_ERROR_ARGUMENT);
  request.struct_size = sizeof request;
  EXPECT_EQ(tenon_server_submit(server.get(), &request, &call), TENON_ERROR_ARGUMENT);
  request.method = "GET";
  request.target = "/health";
  EXPECT_EQ(tenon_server_submit(nullptr, &request, &call), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_call_wait(nullptr, 0, nullptr), TENON_ERROR_ARGUMENT);
  tenon_server_call_destroy(nullptr);
}

}  // namespace
}  // namespace tenon_http::test
