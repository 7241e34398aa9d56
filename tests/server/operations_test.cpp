// Operator's view of the server: clients with their shares, logs, traces, slots, metrics.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/operations/span_exporter.h"
#include "server/operations/trace_context.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

/// Answer that continues until it is cancelled.
Value endless_chat(const Value& changes = Value::object()) {
  Value body = capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", true}});
  body.update(changes);
  return body;
}

/// Collects the lines of a server.
class LogLines {
 public:
  void attach(tenon_server_options& options, uint32_t level) {
    options.log = [](void* user, uint32_t, const char* text, uint64_t length) {
      auto& lines = *static_cast<LogLines*>(user);
      const std::lock_guard lock(lines.mutex_);
      lines.lines_.push_back(Value::parse(std::string(text, length)));
    };
    options.log_user = this;
    options.log_level = level;
  }
  /// Waits for the line about a request.
  Value of_request(const std::string& id) {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        for (const Value& line : lines_) {
          if (line.value("request_id", "") == id) return line;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return Value::object();
  }
  /// Clients of the first `count` requests, in the order of their end.
  std::vector<std::string> clients(size_t count) {
    for (int i = 0; i < 500; ++i) {
      {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (const Value& line : lines_) names.push_back(line.value("client", ""));
        if (names.size() >= count) return names;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::vector<std::string>(count);
  }

 private:
  std::mutex mutex_;
  std::vector<Value> lines_;
};

std::string header_lines(const std::string& key, const std::string& more = "") {
  return "Authorization: Bearer " + key + "\r\n" + more;
}

tenon_server_options with_keys(const char* keys) {
  tenon_server_options options{};
  options.api_keys = keys;
  options.api_keys_length = std::string_view(keys).size();
  return options;
}

TEST(ServerClients, HaveAsManyRequestsAtOnceAsTheyMay) {
  const RunningServer server(with_keys("a anna requests=1\nb anna\nc bert\n"));
  HttpClient first(server.port());
  first.send(HttpClient::text_of("POST", kChat, endless_chat().dump(), header_lines("a")));
  EXPECT_THAT(first.read_until("data: "), HasSubstr("200 OK"));
  const auto ask = [&](const char* key) {
    HttpClient client(server.port());
    return client.request("POST", kChat, capital_chat({{"max_tokens", 1}}).dump(),
                          header_lines(key));
  };
  const Reply refused = ask("a");
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.error()["code"], "too_many_requests");
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(ask("c").status, 200);
  EXPECT_EQ(server.get("/health").status, 200);
  first.close();
  int status = 429;
  EXPECT_TRUE(eventually([&] { return (status = ask("a").status) != 429; }));
  EXPECT_EQ(status, 200) << "the first has ended";
}

TEST(ServerClients, ShareTheEngineByTheirWeights) {
  constexpr int kEach = 12;
  LogLines lines;
  tenon_server_options options = with_keys("a heavy weight=9\nb light\nc other\n");
  lines.attach(options, TENON_LOG_INFO);
  tenon::Engine engine(demo_model(), {.running = 1});
  RunningServer server(options, false);
  ASSERT_EQ(tenon_server_add_engine(server.get(), "one", 3, demo_model().get(), engine.get(), 2048),
            TENON_OK);
  ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  // All are queued before the first step.
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < kEach; ++i) {
    for (const char* key : {"b", "a"}) {
      const Value body = capital_chat({{"model", "one"}, {"max_tokens", 8}, {"ignore_eos", true}});
      clients.push_back(std::make_unique<HttpClient>(server.port()));
      clients.back()->send(HttpClient::text_of("POST", kChat, body.dump(), header_lines(key)));
    }
  }
  while (engine.stats().waiting < 2 * kEach) std::this_thread::yield();
  std::thread computing([&] { engine.run(); });
  for (const auto& client : clients) EXPECT_EQ(client->read().status, 200);
  engine.stop();
  computing.join();
  const std::vector<std::string> order = lines.clients(2 * kEach);
  const auto heavy = std::count(order.begin(), order.begin() + kEach, "heavy");
  EXPECT_GE(heavy, kEach - 3) << "nine of ten, while both wait";
}

TEST(ServerLogs, HaveALineForEachRequest) {
  LogLines lines;
  tenon_server_options options = with_keys("a anna\n");
  lines.attach(options, TENON_LOG_INFO);
  const RunningServer server(options);
  HttpClient client(server.port());
  const Reply reply = client.request("POST", kChat, capital_chat().dump(),
                                     header_lines("a", "X-Request-Id: mine-1\r\n"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(reply.headers.at("x-request-id"), "mine-1");
  const Value line = lines.of_request("mine-1");
  EXPECT_EQ(line["event"], "request") << line;
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["method"], "POST");
  EXPECT_EQ(line["path"], kChat);
  EXPECT_EQ(line["status"], 200);
  EXPECT_EQ(line["client"], "anna");
  EXPECT_EQ(line["model"], "demo");
  EXPECT_EQ(line["prompt_tokens"], reply.json()["usage"]["prompt_tokens"]);
  EXPECT_EQ(line["generated_tokens"], reply.json()["usage"]["completion_tokens"]);
  EXPECT_GT(line["first_token_ms"], 0);
  EXPECT_GE(line["duration_ms"], line["first_token_ms"]);
  EXPECT_THAT(line["time"].get<std::string>(), MatchesRegex("....-..-..T..:..:..\\....Z"));

  const Reply wrong = client.request("POST", kChat, "{}", header_lines("b"));
  const Value refused = lines.of_request(wrong.headers.at("x-request-id"));
  EXPECT_EQ(refused["status"], 401) << refused;
  const Reply messages = client.request("POST", "/v1/messages", "{}", header_lines("a"));
  EXPECT_THAT(messages.headers.at("request-id"), HasSubstr("req_"));
}

TEST(ServerLogs, TellOfClientsThatLeft) {
  LogLines lines;
  tenon_server_options options{};
  lines.attach(options, TENON_LOG_INFO);
  const RunningServer server(options);
  {
    HttpClient client(server.port());
    client.send(
        HttpClient::text_of("POST", kChat, endless_chat().dump(), "X-Request-Id: left\r\n"));
    client.read_until("data: ");
  }
  EXPECT_EQ(lines.of_request("left").value("client_gone", false), true);
}

TEST(ServerLogs, ReplaceIdsThatAreNotPlain) {
  const RunningServer server;
  HttpClient client(server.port());
  for (const std::string& id : {std::string("a b"), std::string(200, 'a'), std::string("\"}")}) {
    const Reply reply = client.request("GET", "/health", "", "X-Request-Id: " + id + "\r\n");
    EXPECT_THAT(reply.headers.at("x-request-id"), MatchesRegex("req_[0-9A-Za-z]+")) << id;
  }
}

TEST(TraceContext, GoesOnWithATraceAndBeginsOneOtherwise) {
  const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const std::string parent = "00f067aa0ba902b7";
  const TraceContext trace = continue_trace("00-" + trace_id + "-" + parent + "-01");
  EXPECT_EQ(trace.trace_id, trace_id);
  EXPECT_EQ(trace.parent_id, parent);
  EXPECT_TRUE(trace.is_sampled);
  EXPECT_THAT(trace.span_id, MatchesRegex("[0-9a-f]{16}"));
  EXPECT_NE(trace.span_id, parent);
  EXPECT_EQ(traceresponse_of(trace), "00-" + trace_id + "-" + trace.span_id + "-01");
  EXPECT_FALSE(continue_trace("00-" + trace_id + "-" + parent + "-00").is_sampled);
  EXPECT_EQ(continue_trace("01-" + trace_id + "-" + parent + "-01-more").trace_id, trace_id);
  for (const std::string& wrong :
       {std::string(), "00-" + trace_id + "-" + parent, "ff-" + trace_id + "-" + parent + "-01",
        "00-" + std::string(32, '0') + "-" + parent + "-01",
        "00-" + trace_id + "-" + std::string(16, '0') + "-01",
        "00-" + trace_id + "-" + parent + "-01-more",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
        "00+" + trace_id + "+" + parent + "+01"}) {
    const TraceContext begun = continue_trace(wrong);
    EXPECT_NE(begun.trace_id, trace_id) << wrong;
    EXPECT_EQ(begun.parent_id, "") << wrong;
    EXPECT_THAT(begun.trace_id, MatchesRegex("[0-9a-f]{32}"));
  }
}

/// Collector that takes one export at a time and answers 200.
class Collector {
 public:
  Collector() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::listen(fd_, 8);
    socklen_t size = sizeof address;
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    address_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~Collector() { ::close(fd_); }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }

  /// Waits for the next export: head and body.
  [[nodiscard]] std::string take() const {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, 10000) <= 0) return "";
    const int connection = ::accept(fd_, nullptr, nullptr);
    std::string text;
    size_t wanted = std::string::npos;
    while (text.size() < wanted) {
      char buffer[4096];
      const ssize_t size = ::recv(connection, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
      const size_t head = text.find("\r\n\r\n");
      const size_t length = text.find("Content-Length: ");
      if (head != text.npos) wanted = head + 4 + std::stoul(text.substr(length + 16));
    }
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    (void)::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(connection);
    return text;
  }

 private:
  int fd_;
  std::string address_;
};

TEST(ServerTraces, GoToACollector) {
  const Collector collector;
  tenon_server_options options{};
  options.otlp_address = collector.address().c_str();
  const RunningServer server(options);
  HttpClient client(server.port());
  const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const Reply reply = client.request("POST", kChat, capital_chat().dump(),
                                     "traceparent: 00-" + trace_id + "-00f067aa0ba902b7-01\r\n");
  ASSERT_EQ(reply.status, 200);
  const std::string answered = reply.headers.at("traceresponse");
  EXPECT_THAT(answered, HasSubstr(trace_id));

  const std::string text = collector.take();
  EXPECT_THAT(text, testing::StartsWith("POST /v1/traces HTTP/1.1\r\n"));
  const Value sent = Value::parse(text.substr(text.find("\r\n\r\n") + 4), nullptr, false);
  const Value span = sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_EQ(span["traceId"], trace_id) << sent;
  EXPECT_EQ(span["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(answered.substr(36, 16), span["spanId"].get<std::string>());
  EXPECT_EQ(span["kind"], 2);
  EXPECT_EQ(span["name"], std::string("POST ") + kChat);
  EXPECT_LT(std::stoull(span["startTimeUnixNano"].get<std::string>()),
            std::stoull(span["endTimeUnixNano"].get<std::string>()));
  EXPECT_EQ(span["events"][0]["name"], "first token");
  EXPECT_THAT(span["attributes"].dump(), HasSubstr("gen_ai.usage.output_tokens"));
}

TEST(ServerTraces, AddressesAreChecked) {
  for (const char* wrong : {"", "collector:4318", "https://c:4318", "http://", "http://c:port",
                            "http://:4318", "http://c:"}) {
    EXPECT_THROW(SpanExporter{wrong}, tenon::Error) << wrong;
  }
  for (const char* right : {"http://c", "http://c:4318/", "http://[::1]:4318/v1/traces"}) {
    EXPECT_NO_THROW(SpanExporter{right}) << right;
  }
  tenon_server_options options{};
  options.struct_size = sizeof options;
  options.otlp_address = "c:4318";
  tenon_server* server = nullptr;
  EXPECT_EQ(tenon_server_create(&options, &server), TENON_ERROR_ARGUMENT);
}

TEST(ServerSlots, ShowWhatIsUnderWay) {
  const RunningServer server;
  EXPECT_EQ(server.get("/slots").json()["data"].size(), 0u);
  HttpClient client(server.port());
  client.send(HttpClient::text_of("POST", kChat, endless_chat().dump(), "X-Request-Id: one\r\n"));
  client.read_until("content\":\"");
  Value slot = Value::object();
  EXPECT_TRUE(eventually([&] {
    slot = server.get("/slots").json()["data"].at(0);
    return slot.value("generated_tokens", 0) > 0;
  }));
  EXPECT_EQ(slot["id"], "one");
  EXPECT_EQ(slot["model"], "demo");
  EXPECT_EQ(slot["phase"], "generating");
  EXPECT_GT(slot["prompt_tokens"], 10);
  EXPECT_GT(slot["generated_tokens"], 0);
}

TEST(ServerMetrics, CountAnswersAndClients) {
  const RunningServer server(with_keys("a anna\n"));
  HttpClient client(server.port());
  const Reply reply = client.request("POST", kChat, capital_chat().dump(), header_lines("a"));
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(client.request("POST", kChat, "{}", header_lines("a")).status, 400);
  EXPECT_EQ(client.request("POST", kChat, "{}").status, 401);
  std::string text;
  EXPECT_TRUE(eventually([&] {
    text = server.get("/metrics").body;
    return text.find("code=\"4xx\"} 2") != text.npos;
  }));
  EXPECT_THAT(text, HasSubstr("tenon_http_answers_total{code=\"4xx\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tenon_client_requests_total{client=\"anna\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tenon_client_prompt_tokens_total{client=\"anna\"} " +
                              reply.json()["usage"]["prompt_tokens"].dump() + "\n"));
  EXPECT_THAT(text, HasSubstr("tenon_model_loaded{model_name=\"demo\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running{model_name=\"demo\"}"));
}

}  // namespace
}  // namespace tenon_http::test
