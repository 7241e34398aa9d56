// Resources that clients compete for: seats, threads, sockets, and the bounds of stored and
// repeated data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test::shares {
namespace {

Value small_completion() { return {{"prompt", "Once"}, {"max_tokens", 4}, {"ignore_eos", true}}; }

/// Answers that outlast the requests of other clients.
Value many_answers(size_t count, size_t tokens = 1500) {
  return {{"prompt", std::vector<std::vector<int>>(count, {5, 6, 7})},
          {"max_tokens", tokens},
          {"ignore_eos", true},
          {"stream", true}};
}

Value many_questions() {
  Value questions = Value::array();
  for (int q = 0; q < 400; ++q) {
    Value choices = Value::array();
    for (int i = 0; i < 20; ++i) choices.push_back({{"value", std::to_string(i)}});
    questions.push_back({{"type", "choice"},
                         {"instructions", "Which of these, number " + std::to_string(q) + "?"},
                         {"choices", choices}});
  }
  return {{"input", "The fox is red."}, {"questions", questions}};
}

tenon_server_options with_keys(std::string_view keys) {
  tenon_server_options options{};
  options.api_keys = keys.data();
  options.api_keys_length = keys.size();
  return options;
}

TEST(Shares, ConnectionsWithoutKeysShareTheSeats) {
  tenon::Options few;
  few.set("running", int64_t{2});
  const RunningServer server({}, true, {.engine_options = few.get()});
  HttpClient greedy(server.port());
  greedy.send(HttpClient::text_of("POST", "/v1/completions", many_answers(8).dump()));
  greedy.read_until("data: ", 120);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(server.post("/v1/completions", small_completion()).status, 200);
  }
  EXPECT_EQ(greedy.read_until("finish_reason\":\"", 0).find("finish_reason\":\"length\""),
            std::string::npos)
      << "none of the long answers had ended";
}

TEST(Shares, AClientsRequestsCountTheirAnswers) {
  const RunningServer server(with_keys("a anna requests=2\n"));
  const auto ask = [&](const Value& body, const char* path) {
    return HttpClient(server.port())
        .request("POST", path, body.dump(), "Authorization: Bearer a\r\n");
  };
  Value three = small_completion();
  three["n"] = 3;
  const Reply refused = ask(three, "/v1/completions");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.error()["code"], "too_many_requests");
  EXPECT_EQ(ask(capital_chat({{"n", 3}}), kChat).status, 429);
  Value prompts = small_completion();
  prompts["prompt"] = {"a", "b", "c"};
  EXPECT_EQ(ask(prompts, "/v1/completions").status, 429);
  prompts["prompt"] = {"a", "b"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(eventually([&] { return ask(prompts, "/v1/completions").status == 200; }))
        << "what has ended counts no more";
  }
}

TEST(Shares, DecisionsHoldNoThreadThatOthersNeed) {
  const RunningServer server;
  std::vector<std::unique_ptr<HttpClient>> many;
  const std::string text = HttpClient::text_of("POST", "/v1/decisions", many_questions().dump());
  for (int i = 0; i < 6; ++i) {
    many.push_back(std::make_unique<HttpClient>(server.port()));
    many.back()->send(text);
  }
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(server.post("/v1/completions", small_completion()).status, 200);
  }
  for (const auto& client : many) {
    EXPECT_EQ(client->read_until("HTTP/1.1", 0), "") << "it was answered before another's 4 tokens";
  }
}

TEST(Shares, AStopEndsWhatComputes) {
  RunningServer server;
  HttpClient decisions(server.port());
  decisions.send(HttpClient::text_of("POST", "/v1/decisions", many_questions().dump()));
  HttpClient answers(server.port());
  answers.send(HttpClient::text_of("POST", "/v1/completions", many_answers(8).dump()));
  answers.read_until("data: ", 120);
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  EXPECT_EQ(decisions.read().status, 503);
}

}  // namespace
}  // namespace tenon_http::test::shares
