// Server with the demo model on a free port.
#pragma once

#include <gtest/gtest.h>
#include <tenon/server.h>

#include <chrono>
#include <memory>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>

#include "server/http_client.h"

namespace tenon_http::test {

inline constexpr const char* kChat = "/v1/chat/completions";

/// Polls `holds` until it returns true, for up to ten seconds, since other threads may be late.
template <typename Holds>
bool eventually(Holds holds) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// Loaded once for all tests.
inline const tenon::Model& demo_model() {
  static const tenon::Model model(TENON_DEMO_MODEL, {.threads = 2});
  return model;
}

inline Value user_message(const std::string& text) {
  return Value::array({{{"role", "user"}, {"content", text}}});
}

/// Chat whose answer is "Oslo", with changes.
inline Value capital_chat(const Value& changes = Value::object()) {
  Value body{{"model", "demo"},
             {"messages", user_message("What is the capital of Norway?")},
             {"max_tokens", 24},
             {"temperature", 0}};
  body.update(changes);
  return body;
}

/// Options for serving the demo model.
struct ServedAs {
  uint64_t context = 2048;
  const tenon_model* model = nullptr;  ///< null means demo_model()
  const tenon_options* engine_options = nullptr;
};

class RunningServer {
 public:
  explicit RunningServer(tenon_server_options options = {}, bool starts = true,
                         const ServedAs& served = {}) {
    if (options.struct_size == 0) options.struct_size = sizeof options;
    check(tenon_server_create(&options, &raw_));
    const tenon_model* model = served.model == nullptr ? demo_model().get() : served.model;
    check(tenon_server_add_model(raw_, "demo", 4, model, served.engine_options, served.context));
    check(tenon_server_listen_tcp(raw_, "127.0.0.1", 0, &port_));
    if (starts) check(tenon_server_start(raw_, 0));
  }
  ~RunningServer() { tenon_server_destroy(raw_); }
  RunningServer(const RunningServer&) = delete;
  RunningServer& operator=(const RunningServer&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }
  [[nodiscard]] tenon_server* get() const { return raw_; }

  Reply post(std::string_view path, const Value& body) const {
    return HttpClient(port_).post(path, body);
  }
  Reply get(std::string_view path) const { return HttpClient(port_).request("GET", path); }
  /// Sum of a metric of /metrics over all labels.
  [[nodiscard]] double metric(const std::string& name) const {
    const std::string text = get("/metrics").body;
    const size_t at = text.find("\n" + name + "{");
    if (at == std::string::npos) return -1;
    return std::stod(text.substr(text.find("} ", at) + 2));
  }

 private:
  static void check(tenon_status status) {
    if (status != TENON_OK) throw std::runtime_error(tenon_server_last_error());
  }

  tenon_server* raw_ = nullptr;
  uint16_t port_ = 0;
};

/// Fixture with one server for all tests of a suite.
class ServerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = std::make_unique<RunningServer>(); }
  static void TearDownTestSuite() { server_.reset(); }
  static const RunningServer& server() { return *server_; }

 private:
  static inline std::unique_ptr<RunningServer> server_;
};

/// Expects a 400 whose `param` has this prefix.
inline void expect_refused(const Reply& reply, const std::string& param) {
  EXPECT_EQ(reply.status, 400) << reply.body;
  const Value error = reply.error();
  ASSERT_TRUE(error.contains("param")) << reply.body;
  ASSERT_TRUE(error["param"].is_string()) << reply.body;
  EXPECT_TRUE(error["param"].get<std::string>().starts_with(param)) << reply.body;
}

}  // namespace tenon_http::test
