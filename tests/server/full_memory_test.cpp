// Server without memory at any moment: each allocation of a request fails once, and in a second run
// with all later ones. The client gets an answer or its connection ends, and the next client is
// served.
//
// TENON_FULL_MEMORY_ALL=1 tries every allocation, otherwise some forty per request.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <limits>
#include <string>
#include <thread>

#include "server/http_server.h"
#include "server/protocols/response_items.h"
#include "server/server_fixture.h"
#include "tests/base/counted_new.h"

namespace tenon_http::test {
namespace {

namespace counted = tenon::counted_new;

constexpr double kPatience = 120;

struct Case {
  const char* name;
  const char* method;
  const char* path;
  std::string body;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::vector<Case> cases() {
  const auto chat = [](const Value& changes) { return capital_chat(changes).dump(); };
  return {
      {"health", "GET", "/health", ""},
      {"page", "GET", "/", ""},
      {"metrics", "GET", "/metrics", ""},
      {"slots", "GET", "/slots", ""},
      {"models", "GET", "/v1/models", ""},
      {"nothing", "GET", "/nothing", ""},
      {"wrong", "POST", kChat, "{"},
      {"chat", "POST", kChat, chat({{"max_tokens", 6}})},
      {"chat_stream", "POST", kChat,
       chat({{"max_tokens", 6}, {"stream", true}, {"n", 2}, {"logprobs", true}})},
      {"completion", "POST", "/v1/completions",
       R"({"model":"demo","prompt":["Once","upon"],"max_tokens":6})"},
      {"responses", "POST", "/v1/responses",
       R"({"model":"demo","input":"Hi","max_output_tokens":6,"stream":true})"},
      {"messages", "POST", "/v1/messages",
       R"({"model":"demo","messages":[{"role":"user","content":"Hi"}],"max_tokens":6})"},
      {"tokenize", "POST", "/tokenize", R"({"model":"demo","prompt":"Once upon a time"})"},
      {"decisions", "POST", "/v1/decisions",
       R"({"model":"demo","input":"The fox","questions":[{"type":"choice","instructions":"q",)"
       R"("choices":[{"value":"a"},{"value":"b"}]}]})"},
  };
}

class FullMemory : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    counted::is_exempt = true;
    (void)demo_model();
    tenon_server_options options{};
    options.log = [](void*, uint32_t, const char*, size_t) {};
    options.log_level = TENON_LOG_DEBUG;
    server_ = std::make_unique<RunningServer>(options);
    ask();
  }

  void ask() const {
    HttpClient client(server_->port());
    client.send(HttpClient::text_of(GetParam().method, GetParam().path, GetParam().body));
    const Reply reply = client.read(kPatience);
    EXPECT_TRUE(reply.status != 0 || client.is_closed_within(kPatience)) << "no answer and no end";
  }

  /// Sends the request under failing allocations; returns the number of allocations.
  int64_t ask_refused(int64_t granted, int64_t refusals) const {
    counted::calls_before_refusal = granted;
    counted::refusals = refusals;
    counted::is_armed = true;
    ask();
    counted::is_armed = false;
    return granted - counted::calls_before_refusal;
  }

  std::unique_ptr<RunningServer> server_;
};

TEST_P(FullMemory, EndsOneRequestAlone) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;
  const int64_t calls = ask_refused(kNever, 0);
  ASSERT_GT(calls, 0);
  const bool tries_all = std::getenv("TENON_FULL_MEMORY_ALL") != nullptr;
  const int64_t step = tries_all ? 1 : std::max<int64_t>(calls / 20, 1);
  for (int64_t granted = 0; granted <= calls; granted += step) {
    for (const int64_t refusals : {int64_t{1}, kNever}) {
      (void)ask_refused(granted, refusals);
      EXPECT_EQ(server_->get("/health").status, 200) << granted << " of " << calls;
    }
  }
  EXPECT_EQ(server_->post(kChat, capital_chat({{"max_tokens", 2}})).status, 200);
}

INSTANTIATE_TEST_SUITE_P(Routes, FullMemory, testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

/// Calls `make` with 0, 1, 2, ... allocations granted on this thread until it succeeds.
template <typename Make>
void make_refused(Make make) {
  reserve_json_memory();
  for (int64_t granted = 0;; ++granted) {
    counted::allocations_left = granted;
    bool is_whole = true;
    try {
      make();
    } catch (const std::bad_alloc&) {
      is_whole = false;
    }
    counted::allocations_left = -1;
    if (is_whole) return;
  }
}

// Partial objects are destroyed once; a second time would end the process.
TEST(FullMemoryOfParts, RequestsAreMadeOrNot) {
  const Json text = "a text that no string holds within itself, as it is too long";
  make_refused([] { const ChatRequest chat{}; });
  make_refused([&] { const ChatRequest chat{.messages = {text}, .variables = {{"a", text}}}; });
  make_refused([] { const ResponseRequest request{}; });
  make_refused([] { const ServerOptions options{}; });
}

TEST(FullMemoryOfParts, TextsAreComparedWithoutMemory) {
  const Json text = "user";
  const Json number = 5;
  const SortedJsonTree sorted = "user";
  counted::allocations_left = 0;
  const bool is_equal = text == "user" && "user" == text && sorted == "user";
  const bool is_other = text != "use" && text != "users" && number != "5" && Json() != "";
  counted::allocations_left = -1;
  EXPECT_TRUE(is_equal);
  EXPECT_TRUE(is_other);
}

// A child of fork() has copies of the locks, but not the threads that would open them.
TEST(FullMemoryOfParts, AChildTakesTheReserveOverFromAThreadOfItsParent) {
  reserve_json_memory();
  const auto take = [] {
    counted::allocations_left = 0;
    void* const piece = take_json_memory(64);
    counted::allocations_left = -1;
    return piece;
  };
  std::promise<void> is_taken;
  std::promise<void> is_over;
  std::thread holder([&] {
    void* const piece = take();
    is_taken.set_value();
    is_over.get_future().wait();
    free_json_memory(piece);
  });
  is_taken.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(static_cast<unsigned>(kPatience));
    free_json_memory(take());
    reserve_json_memory();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child waited for a thread that it does not have";
  is_over.set_value();
  holder.join();
  free_json_memory(take());
}

// Connections during failing allocations are accepted later, or get an error.
TEST(FullMemoryOfTheServer, TakesConnectionsAgain) {
  counted::is_exempt = true;
  const RunningServer server;
  counted::calls_before_refusal = 0;
  counted::refusals = std::numeric_limits<int64_t>::max() / 2;
  counted::is_armed = true;
  HttpClient client(server.port());
  client.send(HttpClient::text_of("GET", "/health", ""));
  const Reply reply = client.read(kPatience);
  counted::is_armed = false;
  EXPECT_EQ(reply.status, 503) << "the answer that was made beforehand";
  EXPECT_EQ(reply.error()["code"], "out_of_memory");
  EXPECT_EQ(server.get("/health").status, 200);
}

TEST(FullMemoryOfTheServer, StopsAllTheSame) {
  counted::is_exempt = true;
  const RunningServer server;
  HttpClient client(server.port());
  const Value body = capital_chat({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", true}});
  client.send(HttpClient::text_of("POST", kChat, body.dump()));
  client.read_until("data: ");
  counted::calls_before_refusal = 0;
  counted::refusals = std::numeric_limits<int64_t>::max() / 2;
  counted::is_armed = true;
  EXPECT_EQ(tenon_server_stop(server.get(), 0), TENON_OK);
  counted::is_armed = false;
  EXPECT_TRUE(client.is_closed_within(kPatience));
}

}  // namespace
}  // namespace tenon_http::test
