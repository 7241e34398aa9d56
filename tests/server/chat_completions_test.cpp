// POST /v1/chat/completions with the demo model, whole and streamed.
#include <gmock/gmock.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

constexpr const char* kPath = "/v1/chat/completions";

Value weather_tool(const Value& parameters = {{"type", "object"},
                                              {"properties", {{"city", {{"type", "string"}}}}},
                                              {"required", {"city"}}},
                   const std::string& name = "get_weather") {
  return {{"type", "function"},
          {"function",
           {{"name", name}, {"description", "Weather of a city"}, {"parameters", parameters}}}};
}

Value schema_format(const Value& schema) {
  return {{"type", "json_schema"},
          {"json_schema", {{"name", "x"}, {"strict", true}, {"schema", schema}}}};
}

class ChatCompletionsTest : public ServerTest {
 protected:
  static Value ask(const Value& changes = Value::object()) {
    const Reply reply = server().post(kPath, capital_chat(changes));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  static std::vector<Value> stream(Value changes) {
    changes["stream"] = true;
    const Reply reply = server().post(kPath, capital_chat(changes));
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.headers.at("content-type"), "text/event-stream");
    return events_of(reply.body);
  }
  static void refuses(const Value& changes, const std::string& param) {
    expect_refused(server().post(kPath, capital_chat(changes)), param);
    Value streamed = changes;
    streamed["stream"] = true;
    expect_refused(server().post(kPath, capital_chat(streamed)), param);
  }
  static std::string text_of(const Value& answer, size_t choice = 0) {
    return answer["choices"][choice]["message"]["content"].get<std::string>();
  }
  static std::string text_of(const std::vector<Value>& events, size_t choice = 0) {
    std::string text;
    for (const Value& event : events) {
      if (!event.is_object()) continue;
      for (const Value& part : event["choices"]) {
        if (part["index"] == choice) text += part["delta"].value("content", "");
      }
    }
    return text;
  }
};

const Value kStory = {{"messages", user_message("Tell me a story about a fox named Lily.")},
                      {"max_tokens", 60}};

Value story(const Value& changes) {
  Value merged = kStory;
  merged.update(changes);
  return merged;
}

TEST_F(ChatCompletionsTest, RefusesWrongRequestsNamingTheField) {
  refuses({{"messages", Value::array()}}, "messages");
  refuses({{"messages", {{{"content", "x"}}}}}, "messages[0].role");
  refuses({{"messages", {{{"role", "king"}, {"content", "x"}}}}}, "messages[0].role");
  refuses({{"messages", {{{"role", "user"}, {"content", {{{"type", "smell"}}}}}}}},
          "messages[0].content[0]");
  refuses({{"messages",
            {{{"role", "user"},
              {"content", {{{"type", "image_url"}, {"image_url", {{"url", "data:"}}}}}}}}}},
          "messages[0].content[0]");
  refuses({{"temperature", 3}}, "temperature");
  refuses({{"top_p", 1.5}}, "top_p");
  refuses({{"presence_penalty", 9}}, "presence_penalty");
  refuses({{"max_tokens", -2}}, "max_tokens");
  refuses({{"stop", 5}}, "stop");
  refuses({{"seed", 1.5}}, "seed");
  refuses({{"n", 0}}, "n");
  refuses({{"logit_bias", {{"99999999", 1}}}}, "logit_bias");
  refuses({{"logit_bias", {{"5", 101}}}}, "logit_bias");
  refuses({{"top_logprobs", 2}}, "top_logprobs");
  refuses({{"logprobs", true}, {"top_logprobs", 21}}, "top_logprobs");
  refuses({{"tool_choice", "required"}}, "tool_choice");
  refuses({{"tools", {weather_tool()}}, {"tool_choice", "maybe"}}, "tool_choice");
  refuses({{"tools", {weather_tool()}},
           {"tool_choice", {{"type", "function"}, {"function", {{"name", "nope"}}}}}},
          "tool_choice");
  refuses({{"tools", {{{"type", "function"}}}}}, "tools[0].function");
  refuses({{"response_format", {{"type", "json_schema"}}}}, "response_format.json_schema");
  EXPECT_EQ(server().post(kPath, capital_chat({{"model", "other"}})).status, 404);
}

TEST_F(ChatCompletionsTest, RefusesSchemasThatCannotBeKeptWithTheJsonPointer) {
  const Value broken = {
      {"type", "object"}, {"properties", {{"a", {{"$ref", "#/$defs/none"}}}}}, {"required", {"a"}}};
  const Reply reply =
      server().post(kPath, capital_chat({{"response_format", schema_format(broken)}}));
  expect_refused(reply, "response_format");
  EXPECT_THAT(reply.error()["message"].get<std::string>(), testing::HasSubstr("/properties/a"));
  Value strict = weather_tool(broken);
  strict["function"]["strict"] = true;
  refuses({{"tools", {strict}}}, "tools");
}

TEST_F(ChatCompletionsTest, RefusesPromptsBeyondTheContext) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "fox lamp beach ";
  const Reply reply = server().post(kPath, capital_chat({{"messages", user_message(text)}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.error()["code"], "context_length_exceeded");
  EXPECT_THAT(reply.error()["message"].get<std::string>(),
              testing::ContainsRegex("prompt is too long: [0-9]+ tokens > 2047 maximum"));
}

TEST_F(ChatCompletionsTest, AnswersWithUsage) {
  const Value answer = ask();
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_THAT(text_of(answer), testing::HasSubstr("Oslo"));
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "stop");
  const Value& usage = answer["usage"];
  EXPECT_EQ(usage["total_tokens"].get<int>(),
            usage["prompt_tokens"].get<int>() + usage["completion_tokens"].get<int>());
  (void)ask();
  EXPECT_NE(ask()["id"], answer["id"]);
}

TEST_F(ChatCompletionsTest, StreamsTheSameText) {
  const std::vector<Value> events = stream({{"stream_options", {{"include_usage", true}}}});
  EXPECT_EQ(text_of(events), text_of(ask()));
  ASSERT_GE(events.size(), 4u);
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(events.front()["choices"][0]["delta"]["role"], "assistant");
  const Value& usage = events[events.size() - 2];
  EXPECT_TRUE(usage["choices"].empty());
  EXPECT_GT(usage["usage"]["completion_tokens"], 0);
  EXPECT_EQ(events[events.size() - 3]["choices"][0]["finish_reason"], "stop");
}

TEST_F(ChatCompletionsTest, KeepsMaxTokensAndStops) {
  const Value cut = ask(story({{"max_tokens", 5}}));
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(cut["usage"]["completion_tokens"], 5);
  const std::string full = text_of(ask(kStory));
  const std::string stop = full.substr(23, 12);
  const Value stopped = ask(story({{"stop", stop}}));
  EXPECT_EQ(text_of(stopped), full.substr(0, full.find(stop)));
  EXPECT_EQ(stopped["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(text_of(stream(story({{"stop", {"zzz", stop}}}))), full.substr(0, full.find(stop)));
}

TEST_F(ChatCompletionsTest, SeedsAndChoices) {
  const Value warm = story({{"temperature", 1.2}, {"seed", 7}});
  EXPECT_EQ(text_of(ask(warm)), text_of(ask(warm)));
  Value several = warm;
  several["n"] = 3;
  const Value answers = ask(several);
  ASSERT_EQ(answers["choices"].size(), 3u);
  EXPECT_EQ(text_of(answers, 0), text_of(ask(warm)));
  EXPECT_NE(text_of(answers, 1), text_of(answers, 0));
  const std::vector<Value> events = stream(several);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(text_of(events, i), text_of(answers, i));
  EXPECT_EQ(answers["seed"], 7);
  EXPECT_EQ(events[0]["seed"], 7);
}

TEST_F(ChatCompletionsTest, ASeedIsDrawnAndToldUnlessOneIsGiven) {
  std::set<std::string> seeds;
  for (const Value& given : {Value(nullptr), Value(nullptr), Value(-1)}) {
    const Value answer = ask(story({{"temperature", 1.2}, {"seed", given}}));
    EXPECT_GE(answer["seed"].get<int64_t>(), 0);
    seeds.insert(answer["seed"].dump());
    const Value again = ask(story({{"temperature", 1.2}, {"seed", answer["seed"]}}));
    EXPECT_EQ(text_of(again), text_of(answer));
  }
  EXPECT_EQ(seeds.size(), 3u);
}

TEST_F(ChatCompletionsTest, LogprobsBesideTheText) {
  const Value answer = ask({{"logprobs", true}, {"top_logprobs", 3}});
  std::string text;
  for (const Value& token : answer["choices"][0]["logprobs"]["content"]) {
    text += token["token"].get<std::string>();
    EXPECT_LE(token["logprob"].get<double>(), 1e-6);
    EXPECT_EQ(token["top_logprobs"].size(), 3u);
  }
  EXPECT_EQ(text, text_of(answer));
  std::string streamed;
  for (const Value& event : stream({{"logprobs", true}})) {
    if (!event.is_object() || event["choices"][0]["logprobs"].is_null()) continue;
    for (const Value& token : event["choices"][0]["logprobs"]["content"]) {
      streamed += token["token"].get<std::string>();
    }
  }
  EXPECT_EQ(streamed, text);
}

TEST_F(ChatCompletionsTest, ToolsAreCalledByEveryKindOfChoice) {
  const Value tools = {weather_tool(), weather_tool({{"type", "object"}}, "get_time")};
  const auto called = [&](const Value& choice) {
    const Value answer = ask({{"messages", user_message("What is the weather in Lima?")},
                              {"tools", tools},
                              {"tool_choice", choice},
                              {"max_tokens", 60}});
    const Value& message = answer["choices"][0]["message"];
    if (!message.contains("tool_calls")) return std::string();
    EXPECT_EQ(answer["choices"][0]["finish_reason"], "tool_calls");
    return message["tool_calls"][0]["function"]["name"].get<std::string>();
  };
  EXPECT_EQ(called("auto"), "get_weather");
  EXPECT_EQ(called("required"), "get_weather");
  EXPECT_EQ(called("none"), "");
  EXPECT_EQ(called({{"type", "function"}, {"function", {{"name", "get_time"}}}}), "get_time");
  EXPECT_EQ(called({{"type", "allowed_tools"},
                    {"allowed_tools",
                     {{"mode", "required"},
                      {"tools", {{{"type", "function"}, {"function", {{"name", "get_time"}}}}}}}}}),
            "get_time");
}

TEST_F(ChatCompletionsTest, CallsAreStreamedInPieces) {
  const std::string text = "Once upon a time there was a proud fox named Lily";
  const Value tool = weather_tool({{"type", "object"},
                                   {"properties", {{"t", {{"const", text}}}}},
                                   {"required", {"t"}},
                                   {"additionalProperties", false}});
  std::string arguments;
  std::string finish;
  int pieces = 0;
  for (const Value& event :
       stream({{"tools", {tool}}, {"tool_choice", "required"}, {"max_tokens", 200}})) {
    if (!event.is_object()) continue;
    const Value& choice = event["choices"][0];
    if (choice["finish_reason"].is_string()) finish = choice["finish_reason"];
    if (!choice["delta"].contains("tool_calls")) continue;
    const Value& call = choice["delta"]["tool_calls"][0];
    EXPECT_EQ(call["index"], 0);
    const std::string piece = call["function"].value("arguments", "");
    pieces += piece.empty() ? 0 : 1;
    arguments += piece;
  }
  EXPECT_EQ(Value::parse(arguments)["t"], text);
  EXPECT_GE(pieces, 3);
  EXPECT_EQ(finish, "tool_calls");
}

TEST_F(ChatCompletionsTest, SchemasAreKeptWhateverTheTemperature) {
  const Value schema = {
      {"type", "object"},
      {"properties", {{"a", {{"type", "string"}, {"maxLength", 10}}}, {"b", {{"enum", {1, 2}}}}}},
      {"required", {"a", "b"}},
      {"additionalProperties", false}};
  for (int seed = 0; seed < 3; ++seed) {
    const Value answer = ask({{"response_format", schema_format(schema)},
                              {"temperature", 2},
                              {"seed", seed},
                              {"max_tokens", 200}});
    const Value value = Value::parse(text_of(answer), nullptr, false);
    ASSERT_TRUE(value.is_object()) << text_of(answer);
    EXPECT_EQ(value.size(), 2u);
    EXPECT_TRUE(value["b"] == 1 || value["b"] == 2);
  }
  EXPECT_EQ(text_of(ask({{"structured_outputs", {{"choice", {"red", "blue"}}}}})).size(), 4u);
}

TEST_F(ChatCompletionsTest, RolesAndPartsAndControlTokensInText) {
  const auto prompt_tokens = [](const Value& messages) {
    return ask({{"messages", messages}, {"max_tokens", 1}})["usage"]["prompt_tokens"].get<int>();
  };
  const auto with_system = [&](const char* role) {
    return prompt_tokens(
        {{{"role", role}, {"content", "Be brief."}}, {{"role", "user"}, {"content", "Hi"}}});
  };
  EXPECT_EQ(with_system("developer"), with_system("system"));
  (void)prompt_tokens({{{"role", "user"}, {"content", "Hello"}},
                       {{"role", "system"}, {"content", "Be brief."}},
                       {{"role", "user"}, {"content", {{{"type", "text"}, {"text", "Hi"}}}}}});
  EXPECT_GT(prompt_tokens(user_message("<|im_end|>")), prompt_tokens(user_message("x")) + 2);
}

TEST_F(ChatCompletionsTest, FunctionsHaveTheirFinishReason) {
  const Value changes{{"functions", Value::array({weather_tool()["function"]})},
                      {"function_call", {{"name", "get_weather"}}},
                      {"max_tokens", 60}};
  const Value choice = ask(changes)["choices"][0];
  EXPECT_EQ(choice["message"]["function_call"]["name"], "get_weather");
  EXPECT_EQ(choice["finish_reason"], "function_call");
  const std::vector<Value> events = stream(changes);
  EXPECT_EQ(events[events.size() - 2]["choices"][0]["finish_reason"], "function_call");
}

TEST_F(ChatCompletionsTest, WhatTheAssistantSaidBeforeIsRead) {
  const auto history = [](const Value& said) {
    return Value{{{"role", "user"}, {"content", "What is the weather in Lima?"}},
                 said,
                 {{"role", "function"}, {"name", "get_weather"}, {"content", "sunny"}},
                 {{"role", "user"}, {"content", "And?"}}};
  };
  const auto prompt_of = [&](const Value& said) {
    return ask({{"messages", history(said)}, {"max_tokens", 1}})["usage"]["prompt_tokens"]
        .get<int>();
  };
  const Value function{{"name", "get_weather"}, {"arguments", R"({"city":"Lima"})"}};
  const Value nothing{{"role", "assistant"}, {"content", nullptr}, {"function_call", nullptr}};
  const Value old_call{{"role", "assistant"}, {"content", nullptr}, {"function_call", function}};
  const Value call{{"role", "assistant"},
                   {"content", nullptr},
                   {"tool_calls", {{{"type", "function"}, {"function", function}}}}};
  EXPECT_EQ(prompt_of(old_call), prompt_of(call));
  EXPECT_GT(prompt_of(old_call), prompt_of(nothing));
  EXPECT_GT(prompt_of({{"role", "assistant"}, {"content", nullptr}, {"refusal", "I will not."}}),
            prompt_of({{"role", "assistant"}, {"content", nullptr}, {"refusal", nullptr}}));
  const auto refuses_said = [&](const Value& said, const std::string& param) {
    refuses({{"messages", history(said)}}, param);
  };
  refuses_said({{"role", "assistant"}, {"function_call", "get_weather"}},
               "messages[1].function_call");
  refuses_said({{"role", "assistant"}, {"function_call", {{"name", "f"}, {"arguments", 5}}}},
               "messages[1].function_call.arguments");
  refuses_said({{"role", "assistant"}, {"audio", {{"id", "x"}}}}, "messages[1].audio");
  refuses({{"tools", {weather_tool()}}, {"functions", {function}}}, "functions");
}

TEST_F(ChatCompletionsTest, AClientThatLeavesEndsItsRequest) {
  for (const bool is_streamed : {false, true}) {
    const double before = server().metric("tenon_requests_cancelled_total");
    {
      HttpClient client(server().port());
      const Value body = capital_chat(
          story({{"max_tokens", 1900}, {"ignore_eos", true}, {"stream", is_streamed}}));
      client.send(HttpClient::text_of("POST", kPath, body.dump()));
      if (is_streamed) client.read_until("data: ");
      for (int i = 0; i < 500 && server().metric("vllm:num_requests_running") < 1; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    const auto left = std::chrono::steady_clock::now();
    while (server().metric("vllm:num_requests_running") > 0 &&
           std::chrono::steady_clock::now() - left < std::chrono::seconds(2)) {
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - left;
    EXPECT_LT(took.count(), 0.5);
    EXPECT_EQ(server().metric("tenon_requests_cancelled_total"), before + 1);
  }
}

TEST_F(ChatCompletionsTest, CustomToolsTakeATextByTheirGrammar) {
  const Value tool{
      {"type", "custom"},
      {"custom",
       {{"name", "note"},
        {"description", "Writes"},
        {"format",
         {{"type", "grammar"},
          {"grammar",
           {{"syntax", "lark"}, {"definition", "start: \"\\\"a\" /b{2,3}/ \"\\n\""}}}}}}}};
  const Value asked{{"messages", user_message("Hello")},
                    {"tools", Value::array({tool})},
                    {"tool_choice", {{"type", "custom"}, {"custom", {{"name", "note"}}}}},
                    {"max_tokens", 60}};
  const Value call = server()
                         .post("/v1/chat/completions", capital_chat(asked))
                         .json()["choices"][0]["message"]["tool_calls"][0];
  EXPECT_EQ(call["type"], "custom");
  EXPECT_THAT(call["custom"]["input"].get<std::string>(), testing::MatchesRegex("\"abbb?\n"));
  Value streamed = capital_chat(asked);
  streamed["stream"] = true;
  std::string input;
  for (const Value& event : events_of(server().post("/v1/chat/completions", streamed).body)) {
    if (!event.is_object()) continue;
    const Value& delta = event["choices"][0]["delta"];
    if (delta.contains("tool_calls")) {
      input += delta["tool_calls"][0]["custom"]["input"].get<std::string>();
    }
  }
  EXPECT_EQ(input, call["custom"]["input"]);
  Value wrong = tool;
  wrong["custom"]["format"]["grammar"]["definition"] = "start: start";
  expect_refused(
      server().post("/v1/chat/completions", capital_chat({{"tools", Value::array({wrong})}})),
      "tools[0].custom.format.grammar.definition");
}

}  // namespace
}  // namespace tenon_http::test
