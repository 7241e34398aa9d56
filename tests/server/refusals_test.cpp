// Every refusal: each route with a wrong method, without a key, with a body that is too large or
// compressed. A request causes each status, type and code in the sources; a missing case fails the
// test.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/api_error.h"
#include "server/router.h"
#include "server/server_fixture.h"
#include "server/work/work_limit.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

tenon_server_options keyed(const char* keys) {
  tenon_server_options options{};
  options.api_keys = keys;
  options.api_keys_length = std::string_view(keys).size();
  return options;
}

/// Path that the route answers.
std::string path_of(const RouteName& route) {
  std::string path(route.path);
  if (path.size() > 1 && path.ends_with('/')) path += "demo";
  return path;
}

bool is_of_messages(const std::string& path) { return path.starts_with("/v1/messages"); }

/// Checks for an error in the interface's shape, with a message.
void expect_error_body(const Reply& reply, const std::string& path) {
  const Value error = reply.error();
  ASSERT_TRUE(error.is_object() && error.contains("message")) << path << " " << reply.body;
  EXPECT_GT(error["message"].get<std::string>().size(), 10u) << path;
  EXPECT_TRUE(error["type"].is_string()) << path << " " << reply.body;
  EXPECT_EQ(reply.json().value("type", ""), is_of_messages(path) ? "error" : "") << path;
  if (!is_of_messages(path)) {
    EXPECT_TRUE(error.contains("param") && error.contains("code")) << reply.body;
  }
}

/// Routes without a key: for browsers and supervisors.
bool is_open(const RouteName& route) {
  static const std::set<std::string_view> kOpen = {"/", "/page/", "/health", "/ready", "/metrics"};
  return kOpen.contains(route.path);
}

TEST(RouteRefusals, AnotherMethodIs405WithThoseThatThePathTakes) {
  const RunningServer server;
  const std::vector<RouteName> routes = list_routes();
  for (const RouteName& route : routes) {
    const std::string path = path_of(route);
    std::set<std::string> taken;
    for (const RouteName& other : routes) {
      const bool leads = other.path.size() > 1 && other.path.ends_with('/')
                             ? path.size() > other.path.size() && path.starts_with(other.path)
                             : path == other.path;
      if (leads) taken.emplace(other.method);
    }
    for (const char* method : {"GET", "POST", "DELETE", "PUT", "PATCH"}) {
      if (taken.contains(method)) continue;
      const Reply reply = HttpClient(server.port()).request(method, path, "{}");
      ASSERT_EQ(reply.status, 405) << method << " " << path << " " << reply.body;
      expect_error_body(reply, path);
      std::set<std::string> allowed;
      std::istringstream list(reply.headers.at("allow"));
      for (std::string one; std::getline(list >> std::ws, one, ',');) allowed.insert(one);
      EXPECT_EQ(allowed, taken) << path;
    }
  }
}

TEST(RouteRefusals, WithoutAKeyAreThoseThatAreNotOpen) {
  const RunningServer server(keyed("secret anna\n"));
  for (const RouteName& route : list_routes()) {
    const std::string path = path_of(route);
    const std::string method(route.method);
    for (const char* headers : {"", "Authorization: Bearer other\r\n", "x-api-key: secre\r\n",
                                "x-api-key: secrets\r\n", "Authorization: secret\r\n"}) {
      const Reply reply =
          HttpClient(server.port()).request(method, path, method == "POST" ? "{}" : "", headers);
      if (is_open(route)) {
        EXPECT_NE(reply.status, 401) << path;
        continue;
      }
      ASSERT_EQ(reply.status, 401) << method << " " << path << " " << headers << reply.body;
      expect_error_body(reply, path);
      EXPECT_THAT(reply.body, testing::Not(HasSubstr("secret"))) << path;
    }
    const Reply reply = HttpClient(server.port())
                            .request(method, path, method == "POST" ? "{}" : "",
                                     "Authorization: Bearer secret\r\n");
    EXPECT_NE(reply.status, 401) << path;
    EXPECT_NE(reply.status, 0) << path;
  }
}

TEST(RouteRefusals, BodiesThatArePackedAre415) {
  const RunningServer server;
  for (const RouteName& route : list_routes()) {
    if (route.method != "POST") continue;
    const std::string path = path_of(route);
    const Reply reply =
        HttpClient(server.port()).request("POST", path, "{}", "Content-Encoding: gzip\r\n");
    ASSERT_EQ(reply.status, 415) << path << " " << reply.body;
    expect_error_body(reply, path);
    EXPECT_THAT(reply.body, HasSubstr("gzip"));
    const Reply plain =
        HttpClient(server.port()).request("POST", path, "{}", "Content-Encoding: identity\r\n");
    EXPECT_NE(plain.status, 415) << path;
  }
}

TEST(RouteRefusals, BodiesThatAreTooLargeAre413) {
  tenon_server_options options{};
  options.max_body_bytes = 4000;
  const RunningServer server(options);
  for (const RouteName& route : list_routes()) {
    if (route.method != "POST") continue;
    const std::string path = path_of(route);
    const Reply reply = HttpClient(server.port()).request("POST", path, std::string(4001, ' '));
    ASSERT_EQ(reply.status, 413) << path << " " << reply.body;
    expect_error_body(reply, path);
    EXPECT_THAT(reply.body, HasSubstr("4000"));
    EXPECT_NE(HttpClient(server.port()).request("POST", path, std::string(4000, ' ')).status, 413)
        << path;
  }
}

TEST(RouteRefusals, PagesOfOtherOriginsAre403Everywhere) {
  const RunningServer server;
  for (const RouteName& route : list_routes()) {
    const std::string path = path_of(route);
    const std::string method(route.method);
    const Reply reply = HttpClient(server.port())
                            .request(method, path, method == "POST" ? "{}" : "",
                                     "Origin: https://evil.example\r\n");
    EXPECT_EQ(reply.status, 403) << method << " " << path << " " << reply.body;
    expect_error_body(reply, path);
  }
}

// ---- Codes --------------------------------------------------------------------------------------

/// Error in OpenAI's shape.
struct Told {
  int status = 0;
  std::string type;
  std::string code;  ///< "" for none
  bool has_retry_after = false;
};

Told told(const Reply& reply) {
  const Value error = reply.error();
  const auto text = [&](const char* key) {
    return error.contains(key) && error[key].is_string() ? error[key].get<std::string>() : "";
  };
  return {reply.status, text("type"), text("code"), reply.headers.contains("retry-after")};
}

Told told(const ApiError& error) {
  return {error.status(), error.type(), error.code().value_or(""),
          error.retry_after_seconds().has_value()};
}

struct Case {
  int status;
  std::string type;
  std::string code;  ///< "" for none
  std::function<Told()> ask;
};

const std::string kRefused = "invalid_request_error";

Value unread_chat() {
  return capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", true}});
}

/// Chat of eight answers larger than the system's buffers, which stays unfinished while unread.
Value endless_chat() {
  Value body = unread_chat();
  body.update({{"n", 8}, {"logprobs", true}, {"top_logprobs", 20}});
  return body;
}

/// Stream that has begun and stays unread.
std::unique_ptr<HttpClient> begun_stream(uint16_t port, const Value& body,
                                         const std::string& headers = "") {
  auto client = std::make_unique<HttpClient>(port);
  client->send(HttpClient::text_of("POST", kChat, body.dump(), headers));
  EXPECT_THAT(client->read_until("data: ", 120), HasSubstr("200 OK"));
  return client;
}

Told get(const std::string& path) { return told(RunningServer().get(path)); }
Told post(const std::string& path, const std::string& body, const std::string& headers = "") {
  const RunningServer server;
  return told(HttpClient(server.port()).request("POST", path, body, headers));
}

Told with_a_model_in_use() {
  tenon_server_options options{};
  options.model_control = 1;
  RunningServer server(options, false);
  tenon_server_model_file file{};
  file.struct_size = sizeof file;
  file.path = TENON_DEMO_MODEL;
  file.model_options = "threads=1\n";
  file.context = 2048;
  EXPECT_EQ(tenon_server_add_file(server.get(), "file", 4, &file), TENON_OK);
  EXPECT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  Value body = endless_chat();
  body["model"] = "file";
  const auto stream = begun_stream(server.port(), body);
  return told(HttpClient(server.port()).request("POST", "/v1/models/file/unload"));
}

/// A running request, a waiting request, and no room for the third.
Told with_a_full_queue() {
  const tenon::Options engine(tenon::EngineOptions{.running = 1, .queue = 1});
  const RunningServer server({}, true, {.engine_options = engine.get()});
  const auto stream = begun_stream(server.port(), unread_chat());
  return told(server.post(kChat, capital_chat({{"n", 8}, {"temperature", 1}})));
}

Told with_too_many_requests() {
  const RunningServer server(keyed("a anna requests=8\n"));
  const std::string key = "Authorization: Bearer a\r\n";
  const auto stream = begun_stream(server.port(), endless_chat(), key);
  return told(HttpClient(server.port()).request("POST", kChat, capital_chat().dump(), key));
}

Told with_a_late_request() {
  tenon_server_options options{};
  options.header_seconds = 0.2;
  const RunningServer server(options);
  HttpClient client(server.port());
  client.send("POST /v1/chat");
  return told(client.read());
}

Told with_too_little_time() {
  tenon_server_options options{};
  options.request_seconds = 0.02;
  const RunningServer server(options);
  return told(server.post(kChat, capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}})));
}

Told with_too_many_connections() {
  tenon_server_options options{};
  options.max_connections = 1;
  const RunningServer server(options);
  // Keep the first connection inside a request: an idle one would be closed to make room.
  HttpClient first(server.port());
  first.send(
      "POST /tokenize HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_NE(first.read_until("\r\n\r\n"), "");
  HttpClient second(server.port());
  return told(second.request("GET", "/health"));
}

Told while_stopping() {
  const RunningServer server;
  const auto stream = begun_stream(server.port(), endless_chat());
  std::thread stopping([&] { tenon_server_stop(server.get(), 2); });
  Told last;
  EXPECT_TRUE(eventually([&] {
    last = told(HttpClient(server.port()).request("POST", kChat, capital_chat().dump()));
    return last.status != 200;
  }));
  stopping.join();
  return last;
}

std::string long_prompt() {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "word ";
  return Value{{"model", "demo"}, {"prompt", text}, {"max_tokens", 1}}.dump();
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {400, kRefused, "", [] { return post(kChat, "{"); }},
      {400, kRefused, "context_length_exceeded",
       [] { return post("/v1/completions", long_prompt()); }},
      {400, kRefused, "previous_response_not_found",
       [] {
         return post("/v1/responses",
                     R"({"model":"demo","input":"Hi","previous_response_id":"resp_0"})");
       }},
      {400, kRefused, "request_too_complex",
       [] {
         try {
           throw WorkEnd::Late;
         } catch (...) {
           return told(api_error_of_current_exception());
         }
       }},
      {400, kRefused, "not_served", [] { return post("/v1/responses/compact", "{}"); }},
      {401, kRefused, "invalid_api_key",
       [] { return told(RunningServer(keyed("a\n")).get("/v1/models")); }},
      {403, "permission_error", "", [] { return post("/v1/models/demo/load", ""); }},
      {403, "permission_error", "host_not_allowed",
       [] {
         const RunningServer server;
         HttpClient client(server.port());
         client.send("GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n");
         return told(client.read());
       }},
      {404, kRefused, "model_not_found",
       [] {
         return post(kChat, capital_chat({{"model", "none"}}).dump());
       }},
      {404, kRefused, "not_found", [] { return get("/nothing"); }},
      {404, kRefused, "previous_response_not_found", [] { return get("/v1/responses/resp_0"); }},
      {405, kRefused, "method_not_allowed", [] { return post("/health", ""); }},
      {408, "timeout", "", with_a_late_request},
      {409, kRefused, "", with_a_model_in_use},
      {413, kRefused, "request_too_large",
       [] {
         tenon_server_options options{};
         options.max_body_bytes = 10;
         const RunningServer server(options);
         return told(HttpClient(server.port()).request("POST", kChat, "           "));
       }},
      {415, kRefused, "", [] { return post(kChat, "{}", "Content-Encoding: br\r\n"); }},
      {429, "rate_limit_exceeded", "rate_limit_exceeded", with_a_full_queue},
      {429, "rate_limit_error", "too_many_requests", with_too_many_requests},
      {431, kRefused, "",
       [] {
         const RunningServer server;
         return told(HttpClient(server.port())
                         .request("GET", "/health", "", "X: " + std::string(40000, 'x') + "\r\n"));
       }},
      {500, "server_error", "",
       [] { return told(api_error_of(tenon::Error(tenon::Code::Internal, "a defect"))); }},
      {503, "server_overloaded", "", with_too_many_connections},
      {503, "server_overloaded", "out_of_memory",
       [] { return told(api_error_of(tenon::Error(tenon::Code::NoMemory, "no room"))); }},
      {503, "server_shutting_down", "", while_stopping},
      {504, "timeout", "timeout", with_too_little_time},
  };
  return all;
}

TEST(ErrorCodes, AreWhatTheirRequestsGet) {
  for (const Case& each : cases()) {
    const std::string name = std::to_string(each.status) + " " + each.type + " " + each.code;
    const Told got = each.ask();
    EXPECT_EQ(got.status, each.status) << name;
    EXPECT_EQ(got.type, each.type) << name;
    EXPECT_EQ(got.code, each.code) << name;
    const bool may_come_again = each.status == 409 || each.status == 429 || each.status == 503;
    EXPECT_EQ(got.has_retry_after, may_come_again) << name;
  }
}

/// All of src/server without line ends, since calls span several lines.
std::string server_sources() {
  std::string text;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_SERVER_SOURCES)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    text.append(std::istreambuf_iterator<char>(file), {}).append("\n");
  }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::set<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex wanted(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at) {
    found.insert(at->size() > 2 ? at->str(1) + " " + at->str(2) : at->str(1));
  }
  return found;
}

TEST(ErrorCodes, ThatTheSourcesNameHaveACase) {
  const std::string sources = server_sources();
  std::set<std::string> codes, kinds;
  for (const Case& each : cases()) {
    codes.insert(each.code);
    kinds.insert(std::to_string(each.status) + " " + each.type);
  }
  const auto named = found_in(sources, R"re(with_code\(\s*"([a-z_]+)")re");
  EXPECT_GT(named.size(), 8u);
  for (const std::string& code : named) {
    EXPECT_TRUE(codes.contains(code)) << "no case for the code " << code;
  }
  const auto made = found_in(sources, R"re(ApiError\(\s*(\d{3}),\s*"([a-z_]+)")re");
  EXPECT_GT(made.size(), 10u);
  for (const std::string& kind : made) {
    EXPECT_TRUE(kinds.contains(kind)) << "no case for " << kind;
  }
}

TEST(ErrorCodes, OfTheLibraryHaveTheirStatus) {
  using tenon::Code;
  struct Known {
    Code code;
    int status;
  };
  for (const Known& known :
       {Known{Code::Argument, 400}, Known{Code::Grammar, 400}, Known{Code::Template, 400},
        Known{Code::Unsupported, 400}, Known{Code::Limit, 400}, Known{Code::Busy, 429},
        Known{Code::NoMemory, 503}, Known{Code::Cancelled, 503}, Known{Code::Deadline, 504},
        Known{Code::State, 500}, Known{Code::Io, 500}, Known{Code::Format, 500},
        Known{Code::Plugin, 500}, Known{Code::Internal, 500}}) {
    const ApiError error = api_error_of(tenon::Error(known.code, "the sentence"), "the.field");
    EXPECT_EQ(error.status(), known.status) << static_cast<int>(known.code);
    if (known.status == 400) {
      EXPECT_STREQ(error.what(), "the sentence");
      EXPECT_EQ(error.param(), "the.field");
    }
  }
}

TEST(ErrorCodes, InAnthropicsShapeGoByTheStatus) {
  struct Known {
    int status;
    const char* type;
  };
  for (const Known& known :
       {Known{400, "invalid_request_error"}, Known{401, "authentication_error"},
        Known{403, "permission_error"}, Known{404, "not_found_error"},
        Known{405, "not_found_error"}, Known{408, "invalid_request_error"},
        Known{413, "request_too_large"}, Known{429, "rate_limit_error"},
        Known{499, "invalid_request_error"}, Known{500, "api_error"},
        Known{503, "overloaded_error"}, Known{504, "api_error"}}) {
    const Value body =
        Value::parse(error_body(ApiError(known.status, "any", "text"), ErrorShape::Anthropic));
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["type"], known.type) << known.status;
    EXPECT_EQ(body["error"]["message"], "text");
  }
}

}  // namespace
}  // namespace tenon_http::test
