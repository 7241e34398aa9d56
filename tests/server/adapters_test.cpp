// Adapters of a served model: by name, by number, in company, and what is refused.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/temp_folder.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

constexpr const char* kCompletions = "/v1/completions";

/// Writes an adapter of rank 1 for the values of the first layer, as PEFT does.
void write_adapter(const tenon::TempFolder& folder, const std::string& name, uint64_t width,
                   uint64_t rows, float value) {
  std::filesystem::create_directories(folder.path(name));
  folder.write(name + "/adapter_config.json",
               R"({"peft_type": "LORA", "r": 1, "lora_alpha": 1, "target_modules": ["v_proj"]})");
  const auto entry = [](const char* half, uint64_t count, bool is_row, uint64_t begin) {
    return std::string(R"("base_model.model.model.layers.0.self_attn.v_proj.lora_)") + half +
           R"(.weight": {"dtype": "F32", "shape": [)" +
           (is_row ? "1, " + std::to_string(count) : std::to_string(count) + ", 1") +
           R"(], "data_offsets": [)" + std::to_string(begin) + ", " +
           std::to_string(begin + count * sizeof(float)) + "]}";
  };
  const std::string header =
      "{" + entry("A", width, true, 0) + "," + entry("B", rows, false, width * sizeof(float)) + "}";
  std::vector<float> values(width + rows);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = value * static_cast<float>(static_cast<int>(i * 7 % 11) - 5);
  }
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  folder.write(name + "/adapter_model.safetensors", bytes);
}

/// Adapters "a" and "b" of the demo model, and one of a wider model.
class DemoAdapters {
 public:
  DemoAdapters() {
    tenon_model_info info{};
    info.struct_size = sizeof info;
    EXPECT_EQ(tenon_model_get_info(demo_model().get(), &info), TENON_OK);
    const uint64_t rows = info.kv_heads * info.value_dim;
    write_adapter(folder_, "a", info.width, rows, 0.125f);
    write_adapter(folder_, "b", info.width, rows, -0.25f);
    write_adapter(folder_, "wide", info.width * 2, rows, 0.125f);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  tenon::TempFolder folder_;
};

/// The demo model with slots, and its server. a has the number 0, b 1.
class AdapterServer {
 public:
  explicit AdapterServer(const char* slots = "4", tenon_server_options options = {},
                         bool adds = true)
      : model_(TENON_DEMO_MODEL, {.threads = 2, .extra = {{"adapter_slots", slots}}}),
        server_(options, true, {.model = model_.get()}) {
    if (!adds) return;
    EXPECT_EQ(add("a"), TENON_OK) << tenon_server_last_error();
    EXPECT_EQ(add("b"), TENON_OK) << tenon_server_last_error();
  }

  tenon_status add(const std::string& name, double scale = 1, const char* model = nullptr) const {
    return tenon_server_add_adapter(server_.get(), name.data(), name.size(), model,
                                    adapters_.path(name).c_str(), scale);
  }
  [[nodiscard]] const RunningServer& server() const { return server_; }
  [[nodiscard]] const tenon::Model& model() const { return model_; }
  [[nodiscard]] const DemoAdapters& adapters() const { return adapters_; }

  [[nodiscard]] Reply complete(const Value& changes) const {
    Value body{{"model", "demo"},
               {"prompt",
                "The capital of Norway, which lies in the north of Europe beside Sweden "
                "and Finland, is a city of"},
               {"max_tokens", 12},
               {"temperature", 0},
               {"ignore_eos", true},
               {"logprobs", 0}};
    if (!changes.is_null()) body.update(changes);
    return server_.post(kCompletions, body);
  }
  /// Text and logprobs of an answer.
  [[nodiscard]] std::string answer(const Value& changes) const {
    const Reply reply = complete(changes);
    EXPECT_EQ(reply.status, 200) << reply.body;
    const Value choice = reply.json()["choices"][0];
    return choice["text"].get<std::string>() + choice["logprobs"]["token_logprobs"].dump();
  }

 private:
  DemoAdapters adapters_;
  tenon::Model model_;
  RunningServer server_;
};

Value lora(const std::vector<std::pair<int, double>>& choices) {
  Value list = Value::array();
  for (const auto& [id, scale] : choices) list.push_back({{"id", id}, {"scale", scale}});
  return {{"lora", list}};
}

uint64_t cached_tokens(const Reply& reply) {
  return reply.json()["usage"]["reuse"].value("reused_tokens", uint64_t{12345});
}

TEST(ServedAdapters, AnswerUnderTheirName) {
  const AdapterServer served;
  const std::string base = served.answer({});
  const std::string a = served.answer({{"model", "a"}});
  const std::string b = served.answer({{"model", "b"}});
  EXPECT_NE(a, base);
  EXPECT_NE(b, base);
  EXPECT_NE(a, b);
  EXPECT_EQ(served.complete({{"model", "a"}}).json()["model"], "a");

  // As a session of the library with the adapter answers.
  const auto adapter = tenon::Adapter::open(served.model(), served.adapters().path("a"));
  tenon::Session session(served.model());
  session.set_adapter(adapter);
  session.append(
      "The capital of Norway, which lies in the north of Europe beside Sweden and "
      "Finland, is a city of");
  tenon::Sampler sampler({.temperature = 0.0f});
  std::string text;
  for (const auto& piece : session.generate(sampler, 12)) text += piece;
  EXPECT_FALSE(text.empty());
  EXPECT_TRUE(a.starts_with(text)) << a << "\n" << text;
}

TEST(ServedAdapters, AreChosenByNumber) {
  const AdapterServer served;
  const std::string base = served.answer({});
  EXPECT_EQ(served.answer(lora({{0, 1}})), served.answer({{"model", "a"}}));
  EXPECT_EQ(served.answer(lora({{1, 1}, {0, 0}})), served.answer({{"model", "b"}}));
  EXPECT_EQ(served.answer(lora({})), base);
  EXPECT_EQ(served.answer(lora({{0, 0}, {1, 0}})), base);
  const std::string both = served.answer(lora({{0, 1}, {1, 0.5}}));
  EXPECT_EQ(both, served.answer(lora({{1, 0.5}, {0, 1}})));
  EXPECT_NE(both, served.answer({{"model", "a"}}));
  EXPECT_NE(both, base);
}

TEST(ServedAdapters, HaveAScaleOfTheirOwn) {
  const AdapterServer served("4", {}, false);
  ASSERT_EQ(served.add("a", 0.5), TENON_OK);
  ASSERT_EQ(served.add("b", 0), TENON_OK);
  EXPECT_EQ(served.answer({{"model", "a"}}), served.answer(lora({{0, 0.5}})));
  EXPECT_EQ(served.answer({{"model", "b"}}), served.answer({}));
}

TEST(ServedAdapters, NeverReuseEachOthersText) {
  const AdapterServer served;
  EXPECT_EQ(cached_tokens(served.complete({})), 0u);
  const std::string base = served.answer({});
  EXPECT_GT(cached_tokens(served.complete({})), 0u);
  std::vector<std::string> answers;
  const std::vector<Value> kinds = {
      {{"model", "a"}}, {{"model", "b"}}, lora({{0, 0.5}}), lora({{0, 1}, {1, 1}})};
  for (const Value& kind : kinds) {
    const Reply first = served.complete(kind);
    EXPECT_EQ(cached_tokens(first), 0u) << kind.dump();
    const Reply second = served.complete(kind);
    EXPECT_GT(cached_tokens(second), 0u) << kind.dump();
    EXPECT_EQ(first.json()["choices"], second.json()["choices"]) << kind.dump();
    answers.push_back(served.answer(kind));
  }
  EXPECT_GT(cached_tokens(served.complete(lora({{0, 1}}))), 0u);  // that of "a"
  EXPECT_EQ(served.answer({}), base);
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(served.answer(kinds[i]), answers[i]);
}

TEST(ServedAdapters, AConversationUnderAnotherIsNotRepaired) {
  const AdapterServer served;
  const auto turn = [&](const Value& changes, const Value& messages) {
    Value body{{"model", "demo"}, {"messages", messages}, {"max_tokens", 200}, {"temperature", 0}};
    if (!changes.is_null()) body.update(changes);
    return served.server().post(kChat, body);
  };
  Value messages = user_message("What is the capital of Norway?");
  const Reply first = turn({}, messages);
  ASSERT_EQ(first.json()["choices"][0]["finish_reason"], "stop") << first.body;
  messages.push_back(first.json()["choices"][0]["message"]);
  messages.push_back({{"role", "user"}, {"content", "And of Sweden?"}});
  EXPECT_EQ(turn({}, messages).json()["usage"]["reuse"]["repaired_turns"], 1);
  for (const Value& other : {Value{{"model", "a"}}, lora({{1, 1}})}) {
    const Value reuse = turn(other, messages).json()["usage"]["reuse"];
    EXPECT_EQ(reuse["repaired_turns"], 0);
    EXPECT_EQ(reuse["reused_tokens"], 0);
  }
}

TEST(ServedAdapters, AnswerInOneBatchAsAlone) {
  const AdapterServer served;
  std::vector<Value> kinds = {
      {{"model", "demo"}}, {{"model", "a"}}, {{"model", "b"}}, lora({{0, 1}, {1, -0.5}})};
  std::vector<std::string> alone;
  Value body{{"model", "demo"},
             {"prompt", "Sweden is"},
             {"max_tokens", 40},
             {"temperature", 0},
             {"ignore_eos", true}};
  for (const Value& kind : kinds) {
    Value asked = body;
    asked.update(kind);
    alone.push_back(served.server().post(kCompletions, asked).json()["choices"].dump());
  }
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int round = 0; round < 2; ++round) {
    for (const Value& kind : kinds) {
      Value asked = body;
      asked.update(kind);
      clients.push_back(std::make_unique<HttpClient>(served.server().port()));
      clients.back()->send(HttpClient::text_of("POST", kCompletions, asked.dump()));
    }
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    EXPECT_EQ(clients[i]->read().json()["choices"].dump(), alone[i % kinds.size()]) << i;
  }
}

TEST(ServedAdapters, WithoutAFreeSlotAre429) {
  const AdapterServer served("1");
  HttpClient running(served.server().port());
  const Value endless = capital_chat({{"model", "a"},
                                      {"max_tokens", 1900},
                                      {"ignore_eos", true},
                                      {"stream", true},
                                      {"n", 8},
                                      {"logprobs", true},
                                      {"top_logprobs", 20}});
  running.send(HttpClient::text_of("POST", kChat, endless.dump()));
  EXPECT_THAT(running.read_until("data: ", 120), HasSubstr("200 OK"));
  const Reply refused = served.complete({{"model", "b"}});
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("adapter_slots"));
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_EQ(served.complete({{"model", "a"}, {"max_tokens", 1}}).status, 200);
  EXPECT_EQ(served.complete({{"max_tokens", 1}}).status, 200);
  // Routes that compute nothing take no slot.
  EXPECT_EQ(served.server().post("/tokenize", {{"model", "b"}, {"prompt", "a"}}).status, 200);
  running.close();
  EXPECT_TRUE(eventually([&] { return served.complete({{"model", "b"}}).status == 200; }));
}

TEST(ServedAdapters, AreModelsOfEveryRoute) {
  const AdapterServer served;
  const RunningServer& server = served.server();
  const Value messages = user_message("Hi");
  const Value question{{"type", "predicate"}, {"instructions", "Is it red?"}};
  const std::vector<std::pair<std::string, Value>> requests = {
      {kChat, {{"messages", messages}, {"max_tokens", 2}}},
      {"/v1/messages", {{"messages", messages}, {"max_tokens", 2}}},
      {"/v1/responses", {{"input", "Hi"}, {"max_output_tokens", 2}}},
      {"/v1/decisions", {{"input", "The fox is red."}, {"questions", {question}}}},
      {kCompletions, {{"prompt", "Hi"}, {"max_tokens", 2}, {"echo", true}, {"logprobs", 1}}},
      {"/v1/messages/count_tokens", {{"messages", messages}}},
      {"/detokenize", {{"tokens", {1}}}}};
  for (auto [route, body] : requests) {
    body["model"] = "b";
    const Reply reply = server.post(route, body);
    EXPECT_EQ(reply.status, 200) << route << reply.body;
    EXPECT_EQ(reply.json().value("model", "b"), "b") << route;
    body["model"] = "demo";
    body.update(lora({{1, 1}}));
    EXPECT_EQ(server.post(route, body).status, 200) << route;
    body.update(lora({{7, 1}}));
    EXPECT_EQ(server.post(route, body).status, 400) << route;
  }
}

TEST(ServedAdapters, AreListed) {
  const AdapterServer served;
  const Value models = served.server().get("/v1/models").json()["data"];
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0]["id"], "demo");
  EXPECT_FALSE(models[0].contains("parent"));
  EXPECT_EQ(models[1]["id"], "a");
  EXPECT_EQ(models[1]["parent"], "demo");
  EXPECT_EQ(served.server().get("/v1/models/b").json()["parent"], "demo");
  EXPECT_EQ(served.server().get("/v1/models/c").status, 404);
  const Value adapters = served.server().get("/lora-adapters").json();
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[1]["id"], 1);
  EXPECT_EQ(adapters[1]["name"], "b");
  EXPECT_EQ(adapters[1]["path"], "b");
  EXPECT_EQ(adapters[1]["scale"], 0);
  EXPECT_EQ(served.server().get("/lora-adapters?model=demo").json(), adapters);
  EXPECT_EQ(served.server().get("/lora-adapters?model=else").status, 404);
}

TEST(ServedAdapters, OfAllRequestsAreSetWhereOrdersAreAllowed) {
  const AdapterServer strict;
  EXPECT_EQ(strict.server().post("/lora-adapters", lora({{0, 1}})["lora"]).status, 403);

  tenon_server_options options{};
  options.model_control = 1;
  const AdapterServer served("4", options);
  const std::string base = served.answer({});
  const std::string a = served.answer({{"model", "a"}});
  const auto order = [&](const Value& scales) {
    return served.server().post("/lora-adapters", scales);
  };
  EXPECT_EQ(order(lora({{0, 1}})["lora"]).json(), (Value{{"success", true}}));
  EXPECT_EQ(served.server().get("/lora-adapters").json()[0]["scale"], 1);
  EXPECT_EQ(served.answer({}), a);
  EXPECT_EQ(served.answer(lora({})), base);
  EXPECT_EQ(served.answer({{"model", "a"}}), a);
  expect_refused(order(lora({{0, 2}, {9, 1}})["lora"]), "lora[1].id");
  expect_refused(order(Value::object()), "lora");
  EXPECT_EQ(served.answer({}), a);
  EXPECT_EQ(order(Value::array()).status, 200);
  EXPECT_EQ(served.answer({}), base);
}

TEST(ServedAdapters, AreRefusedByTheirField) {
  const AdapterServer served;
  EXPECT_EQ(served.complete({{"model", "c"}}).status, 404);
  expect_refused(served.complete(lora({{2, 1}})), "lora[0].id");
  expect_refused(served.complete(lora({{0, 1}, {0, 1}})), "lora[1].id");
  expect_refused(served.complete(lora({{-1, 1}})), "lora[0].id");
  expect_refused(served.complete({{"lora", {{{"scale", 1}}}}}), "lora[0].id");
  expect_refused(served.complete({{"lora", {{{"id", 1}}}}}), "lora[0].scale");
  expect_refused(served.complete({{"lora", {{{"id", 1}, {"scale", 1e300}}}}}), "lora[0].scale");
  expect_refused(served.complete({{"lora", 1}}), "lora");
  Value beside = lora({{0, 1}});
  beside["model"] = "a";
  expect_refused(served.complete(beside), "lora");
  EXPECT_EQ(served.complete({}).status, 200);
}

TEST(ServedAdapters, AreAddedAndRemovedWhileOthersAnswer) {
  const AdapterServer served("2", {}, false);
  HttpClient running(served.server().port());
  running.send(HttpClient::text_of(
      "POST", kChat,
      capital_chat({{"max_tokens", 1500}, {"ignore_eos", true}, {"stream", true}}).dump()));
  EXPECT_THAT(running.read_until("data: ", 120), HasSubstr("200 OK"));
  EXPECT_EQ(served.complete({{"model", "a"}}).status, 404);
  ASSERT_EQ(served.add("a"), TENON_OK);
  const std::string a = served.answer({{"model", "a"}});
  ASSERT_EQ(tenon_server_remove_adapter(served.server().get(), "a", 1), TENON_OK);
  EXPECT_EQ(served.complete({{"model", "a"}}).status, 404);
  EXPECT_EQ(served.complete(lora({{0, 1}})).status, 400);
  ASSERT_EQ(served.add("a"), TENON_OK);
  EXPECT_EQ(served.server().get("/lora-adapters").json()[0]["id"], 1);  // a number of its own
  EXPECT_EQ(served.answer({{"model", "a"}}), a);
}

TEST(ServedAdapters, ThatDoNotFitAreNotAdded) {
  const AdapterServer served;
  tenon_server* server = served.server().get();
  const auto add = [&](const std::string& name, const std::string& path,
                       const char* model = nullptr, double scale = 1) {
    return tenon_server_add_adapter(server, name.data(), name.size(), model, path.c_str(), scale);
  };
  const std::string path = served.adapters().path("a");
  EXPECT_EQ(add("a", path), TENON_ERROR_ARGUMENT);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("adapter"));
  EXPECT_EQ(add("demo", path), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(add("", path), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(add("c", path, "else"), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(add("c", path, "demo", std::nan("")), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(add("c", "/no/such"), TENON_ERROR_IO);
  EXPECT_EQ(add("c", served.adapters().path("wide")), TENON_ERROR_FORMAT);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("v_proj"));
  EXPECT_EQ(tenon_server_add_adapter(server, "c", 1, nullptr, nullptr, 1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_add_adapter(nullptr, "c", 1, nullptr, "x", 1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_remove_adapter(server, "c", 1), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_server_remove_adapter(server, "demo", 4), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(served.server().get("/v1/models").json()["data"].size(), 3u);

  const RunningServer without;
  EXPECT_EQ(tenon_server_add_adapter(without.get(), "a", 1, nullptr, path.c_str(), 1),
            TENON_ERROR_STATE);
  EXPECT_THAT(tenon_server_last_error(), HasSubstr("adapter_slots"));

  ASSERT_EQ(tenon_server_stop(server, 0), TENON_OK);
  EXPECT_EQ(add("c", path), TENON_ERROR_STATE);
}

TEST(ServedAdapters, OfAFileAreReadWithIt) {
  const DemoAdapters adapters;
  tenon_server_options options{};
  options.struct_size = sizeof options;
  options.model_control = 1;
  tenon_server* raw = nullptr;
  ASSERT_EQ(tenon_server_create(&options, &raw), TENON_OK);
  const std::unique_ptr<tenon_server, void (*)(tenon_server*)> server(raw, tenon_server_destroy);
  tenon_server_model_file file{};
  file.struct_size = sizeof file;
  file.path = TENON_DEMO_MODEL;
  file.context = 1024;
  file.model_options = "threads=1\n";
  ASSERT_EQ(tenon_server_add_file(raw, "plain", 5, &file), TENON_OK);
  file.model_options = "threads=1\nadapter_slots=2\n";
  ASSERT_EQ(tenon_server_add_file(raw, "file", 4, &file), TENON_OK);
  const std::string path = adapters.path("a");
  EXPECT_EQ(tenon_server_add_adapter(raw, "a", 1, "plain", path.c_str(), 1), TENON_ERROR_STATE);
  ASSERT_EQ(tenon_server_add_adapter(raw, "a", 1, "file", path.c_str(), 1), TENON_OK);
  const std::string wide = adapters.path("wide");
  ASSERT_EQ(tenon_server_add_adapter(raw, "wide", 4, "file", wide.c_str(), 1), TENON_OK);
  uint16_t port = 0;
  ASSERT_EQ(tenon_server_listen_tcp(raw, "127.0.0.1", 0, &port), TENON_OK);
  ASSERT_EQ(tenon_server_start(raw, 0), TENON_OK);
  const auto chat = [&](const char* model) {
    return HttpClient(port).post(kChat, capital_chat({{"model", model}, {"max_tokens", 4}}));
  };
  const Reply first = chat("a");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.json()["model"], "a");
  EXPECT_EQ(chat("wide").status, 500);
  // Its adapters keep no model loaded.
  Reply unloaded;
  EXPECT_TRUE(eventually([&] {
    unloaded = HttpClient(port).request("POST", "/v1/models/file/unload");
    return unloaded.status == 200;
  })) << unloaded.body;
  EXPECT_EQ(HttpClient(port).request("POST", "/v1/models/a/load").status, 404);
  EXPECT_EQ(chat("a").json()["choices"], first.json()["choices"]);
}

}  // namespace
}  // namespace tenon_http::test
