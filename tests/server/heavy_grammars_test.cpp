// Grammars that compile slowly: the request's WorkLimit ends them, as do a disconnected client and
// a stopping server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <thread>

#include "server/compat/lenient_schema.h"
#include "server/server_fixture.h"
#include "server/work/limited_compile.h"
#include "tests/base/processor_time.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

/// Number of tools that is too much work: almost a second of processor time before the refusal. The
/// context holds their descriptions.
constexpr int kTooMany = 26;

/// Tools with patterns that compile slowly, none of them cached.
Value heavy_tool_list(int count, bool strict) {
  static int number = 0;
  Value tools = Value::array();
  for (int i = 0; i < count; ++i) {
    const std::string pattern = "^(a|b" + std::to_string(number++) + ")*(c|d).{0,14}x[^y]{3,8}$";
    tools.push_back({{"type", "function"},
                     {"function",
                      {{"name", "t" + std::to_string(i)},
                       {"strict", strict},
                       {"parameters",
                        {{"type", "object"},
                         {"properties", {{"p", {{"type", "string"}, {"pattern", pattern}}}}}}}}}});
  }
  return tools;
}

Value heavy_chat(int count, bool strict = true) {
  return capital_chat({{"tools", heavy_tool_list(count, strict)}, {"max_tokens", 1}});
}

double process_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Sends a list of tools that compiles slowly, and waits until the work has begun.
void begin_heavy_request(HttpClient& client) {
  const double before = process_seconds();
  client.send(HttpClient::text_of("POST", kChat, heavy_chat(kTooMany).dump()));
  EXPECT_TRUE(eventually([&] { return process_seconds() > before + 0.1; }));
}

/// Processor time until the process is idle.
double seconds_until_idle() {
  const double begin = process_seconds();
  double last = begin;
  for (int idle = 0; idle < 3;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double now = process_seconds();
    idle = now - last < 0.01 ? idle + 1 : 0;
    last = now;
  }
  return last - begin;
}

class HeavyGrammars : public ServerTest {};

TEST_F(HeavyGrammars, ToolsTogetherAreRefusedWithASentence) {
  HttpClient client(server().port());
  client.send(HttpClient::text_of("POST", kChat, heavy_chat(kTooMany).dump()));
  const Reply reply = client.read(120);
  expect_refused(reply, "tools");
  EXPECT_THAT(reply.body, HasSubstr("all tools together take more than 16 times the work of one"));
}

TEST_F(HeavyGrammars, ToolsThatAreNotStrictLoseTheirSchemas) {
  HttpClient client(server().port());
  client.send(HttpClient::text_of("POST", kChat, heavy_chat(kTooMany, false).dump()));
  const Reply reply = client.read(120);
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.json()["notes"].dump(), HasSubstr("the tools together are too large"));
}

// Almost a second of work is left.
TEST_F(HeavyGrammars, AClientThatGoesEndsTheWork) {
  {
    HttpClient client(server().port());
    begin_heavy_request(client);
  }
  const double seconds = seconds_until_idle();
  EXPECT_LT(tenon::kSanitized ? 0 : seconds, 0.3);
}

TEST(HeavyGrammarsAtTheEnd, AStopKeepsItsTime) {
  const RunningServer server;
  HttpClient client(server.port());
  begin_heavy_request(client);
  const double before = process_seconds();
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  EXPECT_LT(tenon::kSanitized ? 0 : process_seconds() - before, 0.3);
}

// The queue is checked before a request is planned.
TEST(HeavyGrammarsWithAFullQueue, CostNothing) {
  const tenon::Options engine(tenon::EngineOptions{.queue = 0});
  const RunningServer server({}, true, {.engine_options = engine.get()});
  const Reply reply = server.post(kChat, heavy_chat(kTooMany));
  EXPECT_EQ(reply.status, 429) << reply.body;
  EXPECT_EQ(reply.error()["code"], "rate_limit_exceeded");
  const Reply text = server.post("/v1/completions", {{"model", "demo"}, {"prompt", "a"}});
  EXPECT_EQ(text.status, 429) << text.body;
}

TEST(HeavyGrammarsUnderALimit, EndWithTheirTimeAndTheirClient) {
  const std::string schema =
      R"({"properties": {"a": {"pattern": "^(a|b)*(c|d).{0,14}x[^y]{3,8}$"}}})";
  const auto compile = [&] {
    (void)tenon::Grammar::compile(TENON_GRAMMAR_JSON_SCHEMA, schema, under_work_limit());
  };
  const auto end_of = [](auto work) {
    try {
      work();
    } catch (const WorkEnd end) {
      return static_cast<int>(end);
    }
    return -1;
  };
  std::vector<std::string> notes;
  WorkLimit limit;
  {
    const WorkLimit::Use use(limit, 1000);
    EXPECT_EQ(end_of(compile), -1);
  }
  {
    const WorkLimit::Use use(limit, 0.005);
    EXPECT_EQ(end_of(compile), static_cast<int>(WorkEnd::Late));
    EXPECT_EQ(end_of([&] { (void)lenient_schema(Json::parse(schema), "s", notes); }),
              static_cast<int>(WorkEnd::Late));
  }
  const WorkLimit::Use use(limit, 1000);
  limit.stop();
  EXPECT_EQ(end_of(compile), static_cast<int>(WorkEnd::Unwanted));
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace tenon_http::test
