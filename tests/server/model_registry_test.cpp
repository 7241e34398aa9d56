// Models of files: loading on demand, the shared memory budget, and orders of clients.
#include <gmock/gmock.h>

#include <string>
#include <thread>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

/// Serves the demo model's file under several names.
class FileServer {
 public:
  FileServer(const std::vector<std::string>& names, tenon_server_options options,
             uint32_t num_threads = 0) {
    options.struct_size = sizeof options;
    EXPECT_EQ(tenon_server_create(&options, &raw_), TENON_OK) << tenon_server_last_error();
    for (const std::string& name : names) EXPECT_EQ(add(name), TENON_OK);
    EXPECT_EQ(tenon_server_listen_tcp(raw_, "127.0.0.1", 0, &port_), TENON_OK);
    EXPECT_EQ(tenon_server_start(raw_, num_threads), TENON_OK);
  }
  ~FileServer() { tenon_server_destroy(raw_); }
  FileServer(const FileServer&) = delete;
  FileServer& operator=(const FileServer&) = delete;

  [[nodiscard]] uint16_t port() const { return port_; }
  Reply chat(const std::string& model) const {
    return HttpClient(port_).post(kChat, capital_chat({{"model", model}}));
  }
  Reply order(const std::string& model, const std::string& what) const {
    return HttpClient(port_).request("POST", "/v1/models/" + model + "/" + what);
  }
  /// State of a model: "loaded", ...
  [[nodiscard]] std::string state(const std::string& model) const {
    return HttpClient(port_).request("GET", "/v1/models/" + model).json().value("state", "");
  }

 private:
  tenon_status add(const std::string& name) {
    tenon_server_model_file file{};
    file.struct_size = sizeof file;
    file.path = TENON_DEMO_MODEL;
    file.model_options = "threads=1\n";
    file.context = 1024;
    return tenon_server_add_file(raw_, name.data(), name.size(), &file);
  }

  tenon_server* raw_ = nullptr;
  uint16_t port_ = 0;
};

/// Memory of the demo model as FileServer opens it.
uint64_t demo_bytes() {
  tenon_memory memory{};
  memory.struct_size = sizeof memory;
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 1, .inspect = true});
  tenon::check(tenon_model_memory(model.get(), 1024, &memory));
  return memory.weights_bytes + memory.scratch_bytes + 4 * memory.kv_bytes;
}

TEST(ModelRegistry, LoadsAModelForTheRequestThatWantsIt) {
  const FileServer server({"a", "b"}, {});
  EXPECT_EQ(server.state("a"), "unloaded");
  const Reply reply = server.chat("a");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("Oslo"));
  EXPECT_EQ(server.state("a"), "loaded");
  EXPECT_EQ(server.state("b"), "unloaded");
  EXPECT_EQ(server.chat("c").status, 404);
}

TEST(ModelRegistry, RequestsWaitForOneLoad) {
  const FileServer server({"a"}, {});
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->send(HttpClient::text_of("POST", kChat, capital_chat({{"model", "a"}}).dump()));
  }
  for (const auto& client : clients) EXPECT_THAT(client->read().body, HasSubstr("Oslo"));
}

TEST(ModelRegistry, TheOneUnusedLongestGoes) {
  tenon_server_options options{};
  options.memory_bytes = 2 * demo_bytes() + 1000;
  const FileServer server({"a", "b", "c"}, options);
  EXPECT_EQ(server.chat("a").status, 200);
  EXPECT_EQ(server.chat("b").status, 200);
  EXPECT_EQ(server.chat("a").status, 200);
  EXPECT_EQ(server.chat("c").status, 200);
  EXPECT_EQ(server.state("a"), "loaded");
  EXPECT_EQ(server.state("b"), "unloaded");
  EXPECT_EQ(server.state("c"), "loaded");
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_THAT(server.chat(name).body, HasSubstr("Oslo")) << name;
    }
  }
}

TEST(ModelRegistry, AModelThatAnswersStays) {
  tenon_server_options options{};
  options.memory_bytes = demo_bytes() + 1000;
  const FileServer server({"a", "b"}, options);
  HttpClient client(server.port());
  const Value endless = capital_chat(
      {{"model", "a"}, {"max_tokens", 900}, {"ignore_eos", true}, {"stream", true}, {"n", 4}});
  client.send(HttpClient::text_of("POST", kChat, endless.dump()));
  EXPECT_THAT(client.read_until("data: "), HasSubstr("200 OK"));
  const Reply refused = server.chat("b");
  if (server.state("a") == "loaded") {  // otherwise the answer was faster than the wait
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_TRUE(refused.headers.contains("retry-after"));
  }
  client.close();
  Reply reply;
  EXPECT_TRUE(eventually([&] { return (reply = server.chat("b")).status == 200; }));
  EXPECT_THAT(reply.body, HasSubstr("Oslo"));
}

TEST(ModelRegistry, OneThreadDoesAll) {
  tenon_server_options options{};
  options.memory_bytes = demo_bytes() + 1000;
  const FileServer server({"a", "b"}, options, 1);
  for (const char* name : {"a", "b", "a"}) {
    Reply reply;
    EXPECT_TRUE(eventually([&] { return (reply = server.chat(name)).status == 200; }));
    EXPECT_THAT(reply.body, HasSubstr("Oslo")) << name;
  }
}

TEST(ModelRegistry, ObeysOrdersWhereTheyAreAllowed) {
  tenon_server_options options{};
  options.model_control = 1;
  const FileServer server({"a"}, options);
  // Repeat: the previous answer may still hold the model when the order arrives.
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(server.order("a", "load").json()["state"], "loaded");
    EXPECT_EQ(server.state("a"), "loaded");
    const Reply unloaded = server.order("a", "unload");
    ASSERT_EQ(unloaded.json()["state"], "unloaded") << unloaded.body;
  }
  EXPECT_EQ(server.order("a", "unload").status, 200);
  EXPECT_THAT(server.chat("a").body, HasSubstr("Oslo"));
  EXPECT_EQ(server.order("b", "load").status, 404);
  EXPECT_EQ(server.order("a", "explode").status, 404);

  const FileServer strict({"a"}, {});
  EXPECT_EQ(strict.order("a", "load").status, 403);
  EXPECT_EQ(strict.order("a", "unload").status, 403);
}

TEST(ModelRegistry, TheHostsModelsStay) {
  tenon_server_options options{};
  options.model_control = 1;
  const RunningServer server(options);
  const Reply reply = HttpClient(server.port()).request("POST", "/v1/models/demo/unload");
  EXPECT_EQ(reply.status, 400) << reply.body;
  EXPECT_EQ(server.post(kChat, capital_chat()).status, 200);
}

TEST(ModelRegistry, RefusesWrongFiles) {
  tenon_server_options options{};
  options.struct_size = sizeof options;
  options.memory_bytes = 1000;
  tenon_server* server = nullptr;
  ASSERT_EQ(tenon_server_create(&options, &server), TENON_OK);
  tenon_server_model_file file{};
  EXPECT_EQ(tenon_server_add_file(server, "a", 1, nullptr), TENON_ERROR_ARGUMENT);
  file.path = TENON_DEMO_MODEL;
  EXPECT_EQ(tenon_server_add_file(server, "a", 1, &file), TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("struct_size"));
  file.struct_size = sizeof file;
  EXPECT_EQ(tenon_server_add_file(server, "a", 1, &file), TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("budget"));
  file.model_options = "threads";
  EXPECT_EQ(tenon_server_add_file(server, "a", 1, &file), TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("key=value"));
  file.model_options = nullptr;
  file.path = "/nowhere.gguf";
  EXPECT_EQ(tenon_server_add_file(server, "a", 1, &file), TENON_ERROR_IO);
  tenon_server_destroy(server);
}

}  // namespace
}  // namespace tenon_http::test
