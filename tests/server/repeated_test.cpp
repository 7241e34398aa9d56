// Request fields repeated in answers, and large answers printed as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

Value metadata_of(size_t pairs, size_t key, size_t value) {
  Value metadata = Value::object();
  for (size_t i = 0; i < pairs; ++i) {
    std::string name = std::to_string(i);
    name.resize(key, 'k');
    metadata[name] = std::string(value, 'v');
  }
  return metadata;
}

class Repeated : public ServerTest {};

TEST_F(Repeated, MetadataHasTheBoundsOfOpenAi) {
  const auto ask = [](const char* path, const char* field, const Value& value) {
    Value body = capital_chat();
    if (std::string_view(path) == "/v1/responses") {
      body = {{"input", "Hi"}, {"max_output_tokens", 2}};
    }
    body[field] = value;
    return server().post(path, body);
  };
  for (const char* path : {kChat, "/v1/responses"}) {
    expect_refused(ask(path, "metadata", metadata_of(17, 4, 4)), "metadata");
    expect_refused(ask(path, "metadata", metadata_of(1, 65, 4)), "metadata");
    expect_refused(ask(path, "metadata", metadata_of(1, 4, 513)), "metadata");
    expect_refused(ask(path, "user", std::string(513, 'u')), "user");
    expect_refused(ask(path, "safety_identifier", std::string(513, 'u')), "safety_identifier");
    expect_refused(ask(path, "prompt_cache_key", std::string(513, 'u')), "prompt_cache_key");
    EXPECT_EQ(ask(path, "metadata", metadata_of(16, 64, 512)).status, 200);
    std::string umlauts;
    for (int i = 0; i < 512; ++i) umlauts += "\xc3\xbc";
    EXPECT_EQ(ask(path, "user", umlauts).status, 200) << "512 characters, 1024 bytes";
  }
  const Value metadata = metadata_of(16, 64, 512);
  EXPECT_EQ(ask("/v1/responses", "metadata", metadata).json()["metadata"], metadata);
}

// ---- Large answers, which workers print ---------------------------------------------------------

TEST_F(Repeated, LargeAnswersAreWhole) {
  Value chat = capital_chat({{"n", 4},
                             {"max_tokens", 60},
                             {"ignore_eos", true},
                             {"logprobs", true},
                             {"top_logprobs", 20},
                             {"seed", 1}});
  const Reply reply = server().post(kChat, chat);
  ASSERT_EQ(reply.status, 200) << reply.body;
  ASSERT_GT(reply.body.size(), 200'000u);
  const Value answer = reply.json();
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer["choices"].size(), 4u);
  uint64_t tokens = 0;
  for (const Value& choice : answer["choices"]) {
    const Value& content = choice["logprobs"]["content"];
    tokens += content.size();
    for (const Value& token : content) {
      EXPECT_EQ(token["top_logprobs"].size(), 20u);
      EXPECT_LE(token["bytes"].size(), token["token"].get<std::string>().size());
      EXPECT_LE(token["logprob"], 0);
    }
  }
  EXPECT_EQ(answer["usage"]["completion_tokens"], tokens);

  Value texts{{"prompt", {"Once", "Then"}},
              {"max_tokens", 100},
              {"ignore_eos", true},
              {"logprobs", 20},
              {"echo", true}};
  const Reply completions = server().post("/v1/completions", texts);
  ASSERT_EQ(completions.status, 200) << completions.body;
  ASSERT_GT(completions.body.size(), 64u << 10);
  const Value completed = completions.json();
  for (const Value& choice : completed["choices"]) {
    const Value& lists = choice["logprobs"];
    EXPECT_EQ(lists["tokens"].size(), lists["top_logprobs"].size());
    EXPECT_EQ(lists["tokens"].size(), lists["token_logprobs"].size());
    EXPECT_EQ(lists["tokens"].size(), lists["text_offset"].size());
    EXPECT_TRUE(lists["token_logprobs"][0].is_null());
  }
}

/// Events of a stream repeat the settings of the request.
TEST_F(Repeated, LargeEventsAreWhole) {
  std::string long_text = "Say: ";
  for (int i = 0; i < 40; ++i) long_text += "no ";
  Value body{{"input", "Hi"},      {"instructions", long_text},
             {"stream", true},     {"max_output_tokens", 120},
             {"ignore_eos", true}, {"include", {"message.output_text.logprobs"}},
             {"top_logprobs", 20}};
  const Reply reply = server().post("/v1/responses", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::vector<Value> events = events_of(reply.body);
  ASSERT_GT(events.size(), 4u);
  EXPECT_EQ(events[0]["response"]["instructions"], long_text);
  EXPECT_EQ(events[1]["response"], events[0]["response"]);
  Value text_logprobs = Value::array();
  std::string text;
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_TRUE(events[i].is_object()) << i;
    EXPECT_EQ(events[i]["sequence_number"], i);
    if (events[i]["type"] != "response.output_text.delta") continue;
    text += events[i]["delta"].get<std::string>();
    for (const Value& one : events[i]["logprobs"]) text_logprobs.push_back(one);
  }
  const Value& whole = events.back()["response"];
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  ASSERT_GT(whole.dump().size(), 64u << 10);
  const Value& part = whole["output"][0]["content"][0];
  EXPECT_EQ(part["text"], text);
  ASSERT_GE(part["logprobs"].size(), text_logprobs.size());
  for (size_t i = 0; i < text_logprobs.size(); ++i) {
    EXPECT_EQ(part["logprobs"][i], text_logprobs[i]);
  }
  const std::string id = whole["id"];
  EXPECT_EQ(server().get("/v1/responses/" + id).json(), whole) << "as it was answered";
  const Reply items = server().get("/v1/responses/" + id + "/input_items");
  EXPECT_EQ(items.json()["data"].size(), 1u);
  const Reply next = server().post(
      "/v1/responses", {{"input", "And?"}, {"max_output_tokens", 2}, {"previous_response_id", id}});
  EXPECT_EQ(next.status, 200) << next.body;
}

// ---- Guessed tokens -----------------------------------------------------------------------------

/// The demo model guesses for itself: as a draft model it is always right.
TEST(GuessedTokens, ChangeNoAnswerOfTheServer) {
  const tenon::Model model(TENON_DEMO_MODEL,
                           {.threads = 2, .extra = {{"draft_model", TENON_DEMO_MODEL}}});
  tenon::Options forced;
  forced.set("speculation", "forced");
  const RunningServer server({}, true, {.model = model.get(), .engine_options = forced.get()});
  const Value draws = {{"temperature", 0.9}, {"seed", 7}, {"max_tokens", 60}, {"ignore_eos", true}};
  const auto answer = [&](const Value& changes) {
    Value body = capital_chat(draws);
    body.update(changes);
    const Reply reply = server.post(kChat, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json()["choices"][0]["message"]["content"].get<std::string>();
  };
  const std::string expected = answer({{"speculation", "off"}});
  const auto accepted = [&] { return server.metric("vllm:spec_decode_num_accepted_tokens_total"); };
  EXPECT_EQ(accepted(), 0);
  EXPECT_EQ(answer({{"draft_max", 0}}), expected);
  EXPECT_EQ(accepted(), 0);
  EXPECT_EQ(answer(Value::object()), expected);
  const double with_all = accepted();
  EXPECT_GT(with_all, 30);
  EXPECT_EQ(answer({{"draft_max", 1}}), expected);
  EXPECT_GT(accepted(), with_all);
  EXPECT_EQ(answer({{"speculation", "auto"}}), expected);
  expect_refused(server.post(kChat, capital_chat({{"speculation", "perhaps"}})), "speculation");
  expect_refused(server.post(kChat, capital_chat({{"draft_max", 17}})), "draft_max");
}

}  // namespace
}  // namespace tenon_http::test
