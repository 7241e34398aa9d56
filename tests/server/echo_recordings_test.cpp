// Conversations of agents from their recorded first requests on. Each turn reuses at least 95 % of
// the earlier computation, and the answers equal those of a server without a cache.
#include <filesystem>
#include <fstream>
#include <string>
#include <tenon/options.hpp>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

constexpr int kTurns = 6;

/// Agent that continues a conversation in its own wording.
class AgentTalk {
 public:
  explicit AgentTalk(Value body) : body_(std::move(body)) {
    body_["model"] = "demo";
    body_["stream"] = false;
    body_["temperature"] = 0;
  }
  AgentTalk(const AgentTalk&) = delete;
  AgentTalk& operator=(const AgentTalk&) = delete;
  virtual ~AgentTalk() = default;

  [[nodiscard]] virtual const char* path() const = 0;
  /// Content of an answer without its ids, for comparison.
  [[nodiscard]] virtual Value meaning(const Value& answer) const = 0;
  /// Requires a call in even turns, and forbids calls in odd turns.
  virtual void ask(int turn) = 0;
  /// Appends the answer as the agent would return it, and the next messages.
  virtual void go_on(const Value& answer, int turn) = 0;

  [[nodiscard]] const Value& body() const { return body_; }

 protected:
  static std::string result_of(int turn) { return "line " + std::to_string(turn) + "\nend"; }
  static std::string words_of(int turn) { return "Go on with step " + std::to_string(turn); }
  /// Arguments as another JSON library writes them: members reversed, with white space.
  static std::string rewritten(const std::string& arguments) {
    const Value read = Value::parse(arguments);
    std::vector<std::pair<std::string, Value>> members;
    for (const auto& [name, value] : read.items()) members.emplace_back(name, value);
    Value turned = Value::object();
    for (auto at = members.rbegin(); at != members.rend(); ++at) turned[at->first] = at->second;
    return turned.dump(1);
  }

  Value body_;
};

/// Claude Code: blocks, a changing billing line, the date, system messages in the middle.
class ClaudeTalk : public AgentTalk {
 public:
  explicit ClaudeTalk(Value body) : AgentTalk(std::move(body)) {
    body_["max_tokens"] = 300;
    Value& first = body_["messages"][0]["content"];
    first.insert(first.begin(), Value{{"type", "text"}, {"text", ""}});
    set_day(0);
  }
  [[nodiscard]] const char* path() const override { return "/v1/messages"; }
  [[nodiscard]] Value meaning(const Value& answer) const override {
    Value content = answer["content"];
    for (Value& block : content) block.erase("id");
    return content;
  }
  void ask(int turn) override {
    body_["tool_choice"] = {{"type", turn % 2 == 0 ? "any" : "auto"}};
    if (turn % 2 == 1) body_["max_tokens"] = 40;
    if (turn % 2 == 0) body_["max_tokens"] = 300;
    set_day(turn);
  }
  void go_on(const Value& answer, int turn) override {
    Value content = answer["content"];
    Value results = Value::array();
    for (Value& block : content) {
      if (block["type"] != "tool_use") continue;
      block["input"] = Value::parse(rewritten(block["input"].dump()));
      results.push_back({{"type", "tool_result"},
                         {"tool_use_id", block["id"]},
                         {"content", {{{"type", "text"}, {"text", result_of(turn)}}}}});
    }
    body_["messages"].push_back({{"role", "assistant"}, {"content", content}});
    if (results.empty()) results.push_back({{"type", "text"}, {"text", words_of(turn)}});
    body_["messages"].push_back({{"role", "user"}, {"content", results}});
  }

 private:
  void set_day(int turn) {
    const std::string number = std::to_string(turn);
    body_["system"][0]["text"] =
        "x-anthropic-billing-header: cc_version=2.1.330.a" + number + "f; cc_entrypoint=sdk-cli;";
    body_["messages"][0]["content"][0]["text"] =
        "<system-reminder>\n# currentDate\nToday's date is 2026-01-" +
        std::string(turn < 3 ? "30" : "31") + ".\n</system-reminder>\n";
  }
};

/// Codex: items, function calls with ids of its own.
class CodexTalk : public AgentTalk {
 public:
  explicit CodexTalk(Value body) : AgentTalk(std::move(body)) {}
  [[nodiscard]] const char* path() const override { return "/v1/responses"; }
  [[nodiscard]] Value meaning(const Value& answer) const override {
    Value output = answer["output"];
    for (Value& item : output) {
      item.erase("id");
      item.erase("call_id");
    }
    return output;
  }
  void ask(int turn) override {
    body_["tool_choice"] = turn % 2 == 0 ? "required" : "auto";
    body_["max_output_tokens"] = turn % 2 == 0 ? 300 : 40;
  }
  void go_on(const Value& answer, int turn) override {
    bool has_called = false;
    for (Value item : answer["output"]) {
      item["id"] = "item_" + std::to_string(body_["input"].size());
      const std::string type = item["type"];
      body_["input"].push_back(item);
      if (type != "function_call") continue;
      has_called = true;
      body_["input"].push_back({{"type", "function_call_output"},
                                {"call_id", item["call_id"]},
                                {"output", result_of(turn)}});
    }
    if (has_called) return;
    body_["input"].push_back({{"type", "message"},
                              {"role", "user"},
                              {"content", {{{"type", "input_text"}, {"text", words_of(turn)}}}}});
  }
};

/// OpenCode: empty contents beside calls, rewritten arguments.
class OpenCodeTalk : public AgentTalk {
 public:
  explicit OpenCodeTalk(Value body) : AgentTalk(std::move(body)) { body_.erase("stream_options"); }
  [[nodiscard]] const char* path() const override { return kChat; }
  [[nodiscard]] Value meaning(const Value& answer) const override {
    Value message = answer["choices"][0]["message"];
    if (!message.contains("tool_calls")) return message;
    for (Value& call : message["tool_calls"]) call.erase("id");
    return message;
  }
  void ask(int turn) override {
    body_["tool_choice"] = turn % 2 == 0 ? "required" : "auto";
    body_["max_tokens"] = turn % 2 == 0 ? 300 : 40;
  }
  void go_on(const Value& answer, int turn) override {
    Value message = answer["choices"][0]["message"];
    message.erase("refusal");
    const bool has_called = message.contains("tool_calls");
    if (has_called) message["content"] = "";
    for (Value& call : has_called ? message["tool_calls"] : empty_) {
      call["function"]["arguments"] = rewritten(call["function"]["arguments"]);
    }
    body_["messages"].push_back(message);
    for (const Value& call : has_called ? message["tool_calls"] : empty_) {
      body_["messages"].push_back(
          {{"role", "tool"}, {"tool_call_id", call["id"]}, {"content", result_of(turn)}});
    }
    if (!has_called) {
      body_["messages"].push_back({{"role", "user"}, {"content", words_of(turn)}});
    }
  }

 private:
  Value empty_ = Value::array();
};

class EchoRecordingsTest : public testing::Test {
 protected:
  static Value recorded(const std::string& name) {
    std::ifstream file(std::filesystem::path(TENON_SHARED_DIR) / "clients" / "given" /
                       "recordings" / (name + "-first.json"));
    return Value::parse(file, nullptr, false);
  }

  /// Disables prefix reuse and remembered answers: every prompt is computed as it is.
  static tenon::Options without_cache() {
    tenon::Options options;
    options.set("prefix_cache", false);
    return options;
  }

  /// Sends each request to both servers and continues with the first server's answers.
  template <typename Talk>
  void follow(const std::string& name) {
    const Value recording = recorded(name);
    if (!recording.is_object()) GTEST_SKIP() << "the recordings are missing";
    const tenon::Options no_cache = without_cache();
    const RunningServer server({}, true, {.context = 16384});
    const RunningServer from_nothing({}, true,
                                     {.context = 16384, .engine_options = no_cache.get()});
    Talk talk(recording["body"]);
    uint64_t known = 0;  // tokens of the previous prompt and answer
    uint64_t reusable = 0;
    uint64_t computed_again = 0;
    uint64_t repaired = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      talk.ask(turn);
      const Reply reply = server.post(talk.path(), talk.body());
      const Reply exact = from_nothing.post(talk.path(), talk.body());
      ASSERT_EQ(reply.status, 200) << reply.body;
      ASSERT_EQ(exact.status, 200) << exact.body;
      const Value answer = reply.json();
      const Value reuse = answer["usage"]["reuse"];
      EXPECT_EQ(exact.json()["usage"]["reuse"]["reused_tokens"], 0);
      EXPECT_EQ(exact.json()["usage"]["reuse"]["prompt_tokens"], reuse["prompt_tokens"]);
      EXPECT_EQ(talk.meaning(exact.json()), talk.meaning(answer)) << name << " turn " << turn;
      const uint64_t reused = reuse["reused_tokens"];
      if (turn > 0) {
        reusable += known;
        computed_again += known - std::min(known, reused);
        repaired += reuse["repaired_turns"].get<uint64_t>();
      }
      const Value& usage = answer["usage"];
      known = reuse["prompt_tokens"].get<uint64_t>() +
              usage.value(usage.contains("output_tokens") ? "output_tokens" : "completion_tokens",
                          uint64_t{0});
      talk.go_on(answer, turn);
    }
    EXPECT_GT(reusable, 1000u);
    EXPECT_GT(repaired, 0u);
    EXPECT_LE(computed_again * 20, reusable)
        << name << ": " << computed_again << " of " << reusable;
    RecordProperty("computed_again_per_mille", static_cast<int>(computed_again * 1000 / reusable));
  }
};

TEST_F(EchoRecordingsTest, ClaudeCode) { follow<ClaudeTalk>("claude"); }
TEST_F(EchoRecordingsTest, Codex) { follow<CodexTalk>("codex"); }
TEST_F(EchoRecordingsTest, OpenCode) { follow<OpenCodeTalk>("opencode"); }

}  // namespace
}  // namespace tenon_http::test
