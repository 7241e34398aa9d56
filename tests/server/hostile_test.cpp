// Broken, slow, huge and hostile requests: each is answered or disconnected, and the server
// continues.
#include <gmock/gmock.h>

#include <deque>
#include <string>
#include <thread>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

class HostileTest : public ServerTest {
 protected:
  /// Verifies that the server still answers a chat.
  static void TearDownAlive() {
    const Reply reply = server().post(kChat, capital_chat({{"max_tokens", 2}}));
    EXPECT_EQ(reply.status, 200) << reply.body;
  }
  void TearDown() override { TearDownAlive(); }

  /// Answer to raw bytes.
  static Reply raw(const std::string& bytes, double seconds = 5) {
    HttpClient client(server().port());
    client.send(bytes);
    return client.read(seconds);
  }
  static std::string head(const std::string& headers) {
    return std::string("POST ") + kChat + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n";
  }
};

TEST_F(HostileTest, BytesThatAreNoHttpAre400) {
  for (const char* bytes :
       {"\r\n\r\nhello\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x00\x01\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nbad header\r\n\r\n"}) {
    const Reply reply = raw(bytes);
    EXPECT_EQ(reply.status, 400) << bytes;
    EXPECT_TRUE(reply.error().contains("message")) << reply.body;
  }
}

TEST_F(HostileTest, HeadersBeyondTheLimitAre431) {
  std::string headers;
  for (int i = 0; i < 20000; ++i) headers += "X-" + std::to_string(i) + ": 1\r\n";
  EXPECT_EQ(raw(head(headers)).status, 431);
  EXPECT_EQ(raw("GET /" + std::string(100000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n").status, 431);
  EXPECT_EQ(raw("GET / HTTP/1.1\r\nX: " + std::string(1000000, 'a')).status, 431);
}

TEST_F(HostileTest, BodiesBeyondTheLimitAre413BeforeTheyCome) {
  EXPECT_EQ(raw(head("Content-Length: 1000000000000000000\r\n")).status, 413);
  EXPECT_EQ(raw(head("Content-Length: 100000000\r\n")).status, 413);
  const Reply reply =
      raw("POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
  EXPECT_EQ(reply.json().value("type", ""), "error") << reply.body;
}

TEST_F(HostileTest, AHundredMegabytesThatComeAnywayAreAnsweredAndDropped) {
  HttpClient client(server().port());
  client.send(head("Content-Length: 100000000\r\n"));
  const std::string part(1 << 20, ' ');
  for (int i = 0; i < 100 && client.send(part); ++i) {
  }
  EXPECT_EQ(client.read().status, 413);
}

TEST_F(HostileTest, ChunksAreReadAndWrongOnesRefused) {
  const std::string body = capital_chat({{"max_tokens", 2}}).dump();
  char size[20];
  std::snprintf(size, sizeof size, "%zx", body.size());
  const std::string chunked = head("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(raw(chunked + size + ";x=y\r\n" + body + "\r\n0\r\nX-T: 1\r\n\r\n").status, 200);
  EXPECT_EQ(raw(chunked + "zz\r\n").status, 400);
  for (const char* huge : {"ffffffffffffffff", "fffffffffffffffff", "10000000"}) {
    const Reply reply = raw(chunked + huge + "\r\n");
    EXPECT_TRUE(reply.status == 400 || reply.status == 413) << huge << " " << reply.status;
  }
}

TEST_F(HostileTest, LengthBesideChunksIsOneRequestOrNone) {
  const std::string body = capital_chat({{"max_tokens", 2}}).dump();
  HttpClient client(server().port());
  client.send(head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") +
              "5\r\nhello\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().status, 400);
  EXPECT_EQ(raw(head("Content-Length: -1\r\n")).status, 400);
  EXPECT_EQ(raw(head("Content-Length: 5\r\nContent-Length: 6\r\n") + "hello!").status, 400);
}

// Bytes that a proxy may read as another body or another host get one answer, and the connection
// ends.
TEST_F(HostileTest, FramesThatCanBeReadInTwoWaysEndTheConnection) {
  for (const char* field :
       {"Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked, gzip\r\n", "Host: other\r\nContent-Length: 2\r\n"}) {
    HttpClient client(server().port());
    client.send(head(field) + "{}" + HttpClient::text_of("GET", "/health", ""));
    const Reply reply = client.read();
    EXPECT_EQ(reply.status, 400) << field;
    EXPECT_EQ(reply.headers.at("connection"), "close") << field;
    EXPECT_TRUE(client.is_closed_within(5)) << field;
  }
}

TEST_F(HostileTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient client(server().port());
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    bytes += HttpClient::text_of("GET", "/health", "") +
             HttpClient::text_of("GET", "/nothing", "") + HttpClient::text_of("POST", kChat, "{}");
  }
  client.send(bytes);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read().status, 200);
    EXPECT_EQ(client.read().status, 404);
    EXPECT_EQ(client.read().status, 400);
  }
}

TEST_F(HostileTest, RequestsInSingleBytesAreRead) {
  HttpClient client(server().port());
  for (const char byte : HttpClient::text_of("POST", kChat, R"({"model":"demo"})")) {
    ASSERT_TRUE(client.send({&byte, 1}));
  }
  EXPECT_EQ(client.read().status, 400);
}

TEST_F(HostileTest, HalfOpenConnectionsStopNoOne) {
  std::deque<HttpClient> clients;
  for (int i = 0; i < 300; ++i) {
    HttpClient& client = clients.emplace_back(server().port());
    client.send("POST /v1/chat/completions HTTP/1.1\r\nX-A: ");
  }
  TearDownAlive();
}

TEST_F(HostileTest, DeepAndHugeJsonIs400) {
  std::string deep = R"({"model":"demo","messages":)";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  EXPECT_EQ(HttpClient(server().port()).request("POST", kChat, deep).status, 400);
  Value body = capital_chat();
  Value schema = {{"type", "string"}};
  for (int i = 0; i < 200; ++i) schema = {{"type", "object"}, {"properties", {{"a", schema}}}};
  body["response_format"] = {{"type", "json_schema"}, {"json_schema", {{"schema", schema}}}};
  const Reply reply = server().post(kChat, body);
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.error()["message"].get<std::string>(), testing::HasSubstr("deeper"));
}

TEST_F(HostileTest, WrongTypesInEveryFieldAre400WithTheirName) {
  const std::vector<Value> wrong = {
      Value::array({Value::object()}), {{"a", {{"b", 1}}}}, "text", -7.5, 1e300, true};
  const std::vector<std::string> fields = {"model",
                                           "messages",
                                           "temperature",
                                           "top_p",
                                           "n",
                                           "max_tokens",
                                           "stop",
                                           "seed",
                                           "logit_bias",
                                           "logprobs",
                                           "top_logprobs",
                                           "presence_penalty",
                                           "frequency_penalty",
                                           "tools",
                                           "tool_choice",
                                           "stream",
                                           "stream_options",
                                           "response_format",
                                           "top_k",
                                           "min_p",
                                           "structured_outputs",
                                           "chat_template_kwargs",
                                           "parallel_tool_calls"};
  for (const std::string& field : fields) {
    int refused = 0;
    for (const Value& value : wrong) {
      const Reply reply = server().post(kChat, capital_chat({{field, value}, {"max_tokens", 1}}));
      EXPECT_TRUE(reply.status == 200 || reply.status == 400 || reply.status == 404)
          << field << " = " << value << ": " << reply.status << " " << reply.body;
      refused += reply.status >= 400 ? 1 : 0;
      if (reply.status == 400) {
        EXPECT_TRUE(reply.error()["param"].is_string()) << field << " = " << value << reply.body;
      }
    }
    EXPECT_GE(refused, 3) << field;
  }
}

TEST_F(HostileTest, UnknownPathsAndMethodsAreErrorsInJson) {
  for (const auto& [method, path, status] : {std::tuple{"GET", "/v1/nothing", 404},
                                             {"GET", kChat, 405},
                                             {"POST", "/health", 405},
                                             {"GET", "/../../etc/passwd", 404},
                                             {"DELETE", "/v1/models/demo", 405}}) {
    const Reply reply = HttpClient(server().port()).request(method, path);
    EXPECT_EQ(reply.status, status) << path;
    EXPECT_TRUE(reply.error()["message"].is_string()) << reply.body;
  }
  HttpClient head(server().port());
  head.expect_no_body();
  EXPECT_EQ(head.request("HEAD", "/health").status, 200);
}

TEST_F(HostileTest, PagesFromElsewhereMayNotAsk) {
  const std::string request =
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: "
      "2\r\nOrigin: ";
  HttpClient page(server().port());
  page.send(request + "https://evil.example\r\n\r\n{}");
  EXPECT_EQ(page.read().status, 403);
  HttpClient own(server().port());
  own.send(request + "http://localhost:3000\r\n\r\n{}");
  EXPECT_EQ(own.read().status, 400);  // the origin is allowed, but the request is empty
}

TEST(HostileLimits, SlowHeadersAndBodiesEnd) {
  tenon_server_options options{};
  options.header_seconds = 0.3;
  options.body_seconds = 0.3;
  options.idle_seconds = 0.3;
  const RunningServer server(options);
  HttpClient silent(server.port());
  EXPECT_TRUE(silent.is_closed_within(3));
  HttpClient slow(server.port());
  slow.send("POST /v1/chat/completions HTTP/1.1\r\nX-A: 1\r\n");
  EXPECT_EQ(slow.read(3).status, 408);
  HttpClient body(server.port());
  body.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
  EXPECT_EQ(body.read(3).status, 408);
  HttpClient idle(server.port());
  EXPECT_EQ(idle.request("GET", "/health").status, 200);
  EXPECT_TRUE(idle.is_closed_within(3));
}

TEST(HostileLimits, OneConnectionTooManyIs503) {
  tenon_server_options options{};
  options.max_connections = 2;
  const RunningServer server(options);
  // Keep these connections inside a request: idle ones would be closed to make room.
  HttpClient one(server.port());
  HttpClient two(server.port());
  for (HttpClient* busy : {&one, &two}) {
    busy->send(
        "POST /tokenize HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    busy->read_until("\r\n\r\n");
  }
  const Reply reply = HttpClient(server.port()).request("GET", "/health");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.headers.contains("retry-after"));
  one.send("{}");
  EXPECT_EQ(one.read().status, 400);
}

}  // namespace
}  // namespace tenon_http::test
