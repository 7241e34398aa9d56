// Further interfaces with the demo model: completions, messages, responses, tokens, models,
// metrics.
#include <gmock/gmock.h>

#include <string>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

class InterfacesTest : public ServerTest {
 protected:
  static Value send(const std::string& path, const Value& body) {
    const Reply reply = server().post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  }
  static Value completion(const Value& changes = Value::object()) {
    Value body{
        {"model", "demo"}, {"prompt", "Once upon a time"}, {"max_tokens", 10}, {"temperature", 0}};
    body.update(changes);
    return body;
  }
  static Value message(const Value& changes = Value::object()) { return capital_chat(changes); }
  static Value response(const Value& changes = Value::object()) {
    Value body{{"model", "demo"},
               {"input", "What is the capital of Norway?"},
               {"max_output_tokens", 24},
               {"temperature", 0}};
    body.update(changes);
    return body;
  }
  static Value token_ids(const std::string& text) {
    return send("/tokenize", {{"prompt", text}, {"add_special_tokens", false}})["tokens"];
  }
};

TEST_F(InterfacesTest, CompletionsRefuseWrongPrompts) {
  for (const Value& prompt :
       {Value(-5), Value::array(), Value::array({-5}), Value::array({99999999}),
        Value::array({"a", 1}), Value::object(), Value(1.5)}) {
    expect_refused(server().post("/v1/completions", completion({{"prompt", prompt}})), "prompt");
  }
  expect_refused(server().post("/v1/completions", completion({{"suffix", "x"}})), "suffix");
  expect_refused(server().post("/v1/completions", completion({{"best_of", 3}})), "best_of");
  expect_refused(server().post("/v1/completions", completion({{"logprobs", -1}})), "logprobs");
  expect_refused(server().post("/v1/completions", completion({{"max_tokens", 0}})), "max_tokens");
}

TEST_F(InterfacesTest, CompletionsOfTextsAndTokensAreTheSame) {
  const Value one = send("/v1/completions", completion());
  EXPECT_EQ(one["object"], "text_completion");
  EXPECT_EQ(one["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(one["usage"]["completion_tokens"], 10);
  const Value list =
      send("/v1/completions", completion({{"prompt", {"Once upon a time", "One morning Lily"}}}));
  ASSERT_EQ(list["choices"].size(), 2u);
  EXPECT_EQ(list["choices"][1]["index"], 1);
  EXPECT_EQ(list["choices"][0]["text"], one["choices"][0]["text"]);
  const Reply streamed = server().post("/v1/completions", completion({{"stream", true}}));
  std::string text;
  for (const Value& event : events_of(streamed.body)) {
    if (event.is_object()) text += event["choices"][0]["text"].get<std::string>();
  }
  EXPECT_EQ(text, one["choices"][0]["text"]);
}

TEST_F(InterfacesTest, CompletionsEchoWithLogprobs) {
  const Value echo =
      send("/v1/completions", completion({{"echo", true}, {"max_tokens", 0}, {"logprobs", 2}}));
  const Value& choice = echo["choices"][0];
  EXPECT_THAT(choice["text"].get<std::string>(), testing::HasSubstr("Once upon a time"));
  const Value& lists = choice["logprobs"];
  const size_t count = lists["tokens"].size();
  ASSERT_GT(count, 1u);
  EXPECT_TRUE(lists["token_logprobs"][0].is_null());
  EXPECT_LE(lists["token_logprobs"][1].get<double>(), 0);
  EXPECT_EQ(lists["text_offset"].size(), count);
  EXPECT_EQ(lists["top_logprobs"].size(), count);
  const Value more = send("/v1/completions", completion({{"logprobs", 1}}));
  EXPECT_EQ(more["choices"][0]["logprobs"]["tokens"].size(), 10u);
}

TEST_F(InterfacesTest, CompletionsCountOffsetsInCharacters) {
  const Value choice = send("/v1/completions", completion({{"prompt", "\u00e9\u00fc\u2744 y"},
                                                           {"echo", true},
                                                           {"max_tokens", 0},
                                                           {"logprobs", 1}}))["choices"][0];
  const Value& lists = choice["logprobs"];
  ASSERT_GT(lists["tokens"].size(), 4u);
  // The four characters before it have nine bytes.
  EXPECT_EQ(lists["tokens"].back(), " y");
  EXPECT_EQ(lists["text_offset"].back(), 3);
}

TEST_F(InterfacesTest, CompletionsKeepASchema) {
  const Value format{{"type", "json_schema"},
                     {"json_schema", {{"name", "x"}, {"schema", {{"enum", {12}}}}}}};
  const Value answer = send("/v1/completions", completion({{"response_format", format}}));
  // 12.0 is an equal number.
  EXPECT_EQ(Value::parse(answer["choices"][0]["text"].get<std::string>()), 12);
}

TEST_F(InterfacesTest, TokensGoThereAndBack) {
  const std::string text = "na\u00efve \U0001F600 \u6f22\u5b57\n\t\"x\"";
  EXPECT_EQ(send("/detokenize", {{"tokens", token_ids(text)}})["prompt"], text);
  expect_refused(server().post("/detokenize", {{"tokens", {-1}}}), "tokens");
  expect_refused(server().post("/detokenize", {{"tokens", {"x"}}}), "tokens");
  expect_refused(server().post("/tokenize", {{"prompt", 5}}), "prompt");
}

TEST_F(InterfacesTest, TokenizeTellsTextsOrWhatIsNotServed) {
  const Value told = send("/tokenize", {{"prompt", "Hello there"}, {"return_token_strs", true}});
  ASSERT_EQ(told["token_strs"].size(), told["tokens"].size());
  std::string text;
  for (const Value& each : told["token_strs"]) text += each.get<std::string>();
  EXPECT_EQ(text, "Hello there");
  const Value chat{{"messages", user_message("x")}};
  const Value unserved{{"with_pieces", true},
                       {"continue_final_message", true},  // the last message is a user's
                       {"chat_template", "{{ x }}"},
                       {"prompt", "x"}};
  for (const auto& [field, value] : unserved.items()) {
    Value body = chat;
    body[field] = value;
    expect_refused(server().post("/tokenize", body), field);
  }
}

TEST_F(InterfacesTest, MessagesAnswerInTheirShape) {
  const Value answer = send("/v1/messages", message());
  EXPECT_EQ(answer["type"], "message");
  EXPECT_THAT(answer["content"][0]["text"].get<std::string>(), testing::HasSubstr("Oslo"));
  EXPECT_EQ(answer["stop_reason"], "end_turn");
  const Value count =
      send("/v1/messages/count_tokens", {{"model", "demo"}, {"messages", message()["messages"]}});
  EXPECT_EQ(count["input_tokens"].get<int>(),
            answer["usage"]["input_tokens"].get<int>() +
                answer["usage"]["cache_read_input_tokens"].get<int>());
  for (const Value& wrong :
       {Value{{"model", "demo"}, {"max_tokens", 5}}, message({{"temperature", 9}}),
        message({{"tool_choice", {{"type", "tool"}, {"name", "no"}}}}),
        message({{"messages", {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}}})}) {
    const Reply reply = server().post("/v1/messages", wrong);
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.json()["type"], "error");
    EXPECT_EQ(reply.error()["type"], "invalid_request_error");
  }
}

TEST_F(InterfacesTest, MessagesStreamBlocksAndStops) {
  const Value tool{{"name", "get_weather"},
                   {"description", "Weather of a city"},
                   {"input_schema",
                    {{"type", "object"},
                     {"properties", {{"city", {{"type", "string"}}}}},
                     {"required", {"city"}}}}};
  const Reply reply = server().post(
      "/v1/messages", message({{"stream", true},
                               {"max_tokens", 60},
                               {"messages", user_message("What is the weather in Lima?")},
                               {"tools", {tool}}}));
  std::string types;
  std::string input;
  for (const Value& event : events_of(reply.body)) {
    if (event["type"] != "content_block_delta") types += event["type"].get<std::string>() + " ";
    if (event.contains("delta")) input += event["delta"].value("partial_json", "");
    if (event["type"] == "message_delta") {
      EXPECT_EQ(event["delta"]["stop_reason"], "tool_use");
    }
  }
  EXPECT_EQ(types,
            "message_start content_block_start content_block_stop message_delta message_stop ");
  EXPECT_EQ(Value::parse(input)["city"], "Lima");
  const Value stopped =
      send("/v1/messages",
           message({{"messages", user_message("Tell me a story about a fox named Lily.")},
                    {"max_tokens", 60},
                    {"stop_sequences", {"zzz", "fox"}}}));
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "fox");
}

TEST_F(InterfacesTest, MessagesTellWhyTheyAreShort) {
  const auto reason = [](const Value& changes) {
    return send("/v1/messages", message(changes))["stop_reason"];
  };
  EXPECT_EQ(reason({{"max_tokens", 3}}), "max_tokens");
  const Value full{{"max_tokens", 32000}, {"ignore_eos", true}};
  EXPECT_EQ(reason(full), "model_context_window_exceeded");
  Value streamed = message(full);
  streamed["stream"] = true;
  const std::string body = server().post("/v1/messages", streamed).body;
  EXPECT_THAT(body, testing::HasSubstr(R"("stop_reason":"model_context_window_exceeded")"));
}

TEST_F(InterfacesTest, MessagesRefuseThreadsSoThatTheOfficialClientGoesOn) {
  const Reply reply = server().post("/v1/messages", message({{"thread", {{"type", "create"}}}}));
  expect_refused(reply, "thread");
  EXPECT_EQ(reply.error()["details"]["error_code"], "thread_unsupported_request");
  EXPECT_TRUE(reply.error()["details"]["unsupported"].is_array());
  expect_refused(server().post("/v1/messages", message({{"metadata", {{"user_id", 5}}}})),
                 "metadata.user_id");
}

TEST_F(InterfacesTest, ResponsesStreamWhatTheyAnswer) {
  const Value answer = send("/v1/responses", response());
  EXPECT_EQ(answer["status"], "completed");
  const std::string text = answer["output"][0]["content"][0]["text"];
  EXPECT_THAT(text, testing::HasSubstr("Oslo"));
  const Reply reply = server().post("/v1/responses", response({{"stream", true}}));
  std::string streamed;
  int number = 0;
  const std::vector<Value> events = events_of(reply.body);
  for (const Value& event : events) {
    EXPECT_EQ(event["sequence_number"], number++);
    if (event["type"] == "response.output_text.delta") streamed += event["delta"];
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(events.front()["type"], "response.created");
  EXPECT_EQ(events.back()["type"], "response.completed");
  const Value cut = send("/v1/responses", response({{"max_output_tokens", 1}}));
  EXPECT_EQ(cut["status"], "incomplete");
}

TEST_F(InterfacesTest, ResponsesCallFunctionsOfNamespacesAndCustomTools) {
  const Value weather{{"type", "function"},
                      {"name", "get_weather"},
                      {"parameters",
                       {{"type", "object"},
                        {"properties", {{"city", {{"type", "string"}}}}},
                        {"required", {"city"}}}}};
  const Value space{{"type", "namespace"}, {"name", "crm"}, {"tools", {weather}}};
  const Value called = send("/v1/responses", response({{"input", "What is the weather in Lima?"},
                                                       {"tools", {space}},
                                                       {"tool_choice", "required"},
                                                       {"max_output_tokens", 60}}));
  EXPECT_EQ(called["output"][0]["type"], "function_call");
  EXPECT_EQ(called["output"][0]["namespace"], "crm");
  EXPECT_EQ(called["output"][0]["name"], "get_weather");
  const Value note{{"type", "custom"},
                   {"name", "note"},
                   {"description", "Writes"},
                   {"format", {{"type", "grammar"}, {"syntax", "regex"}, {"definition", "ab+c"}}}};
  const Value custom = send("/v1/responses", response({{"input", "Hello"},
                                                       {"tools", {note}},
                                                       {"tool_choice", "required"},
                                                       {"max_output_tokens", 60}}));
  EXPECT_EQ(custom["output"][0]["type"], "custom_tool_call");
  EXPECT_THAT(custom["output"][0]["input"].get<std::string>(), testing::StartsWith("ab"));
  for (const auto& [field, value] : {std::pair<const char*, Value>{"previous_response_id", "x"},
                                     {"background", true},
                                     {"conversation", "x"}}) {
    expect_refused(server().post("/v1/responses", response({{field, value}})), field);
  }
  expect_refused(server().post("/v1/responses", response({{"input", {{{"type", "dream"}}}}})),
                 "input[0]");
}

TEST_F(InterfacesTest, ModelsAndMetrics) {
  const Value models = server().get("/v1/models").json();
  EXPECT_EQ(models["data"][0]["id"], "demo");
  EXPECT_EQ(models["data"][0]["max_model_len"], 2048);
  EXPECT_EQ(server().get("/v1/models/demo").json()["type"], "model");
  EXPECT_EQ(server().get("/v1/models/other").status, 404);
  EXPECT_EQ(server().get("/v1/models?limit=1").json()["data"].size(), 1u);
  EXPECT_EQ(server().get("/v1/models?after_id=demo").json()["data"].size(), 0u);
  expect_refused(server().get("/v1/models?after_id=other"), "after_id");
  const Reply wrong = HttpClient(server().port()).request("PUT", "/v1/models/demo", "{}");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.at("allow"), "GET, POST");
  (void)send("/v1/completions", completion());
  EXPECT_GT(server().metric("vllm:generation_tokens_total"), 0);
  EXPECT_GT(server().metric("tenon_generated_tokens_total"), 0);
  const std::string text = server().get("/metrics").body;
  EXPECT_THAT(text, testing::HasSubstr("vllm:time_to_first_token_seconds_bucket"));
  EXPECT_EQ(text.find("# TYPE tenon_steps_total"), text.rfind("# TYPE tenon_steps_total"));
}

TEST(ServerEmbeddings, RowsOfTextsAndTokens) {
  const tenon::Model model(TENON_DEMO_MODEL, {.threads = 1, .embeddings = "on"});
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_add_model(server.get(), "rows", 4, model.get(), nullptr, 0), TENON_OK)
      << tenon_server_last_error();
  ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  const auto rows = [&](const Value& changes) {
    Value body{{"model", "rows"}, {"input", "a fox"}};
    body.update(changes);
    const Reply reply = server.post("/v1/embeddings", body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json()["data"];
  };
  const Value one = rows(Value::object())[0]["embedding"];
  double square = 0;
  for (const Value& number : one) square += number.get<double>() * number.get<double>();
  EXPECT_NEAR(square, 1, 1e-3);
  const Value list = rows({{"input", {"a lamp", "a fox"}}});
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1]["index"], 1);
  EXPECT_EQ(list[1]["embedding"], one);
  EXPECT_EQ(rows({{"dimensions", 8}})[0]["embedding"].size(), 8u);
  // Base64: four bytes per number, every three bytes as four letters.
  EXPECT_EQ(rows({{"encoding_format", "base64"}})[0]["embedding"].get<std::string>().size(),
            (one.size() * 4 + 2) / 3 * 4);
  for (const Value& input :
       {Value(5), Value::array(), Value::array({99999999}), Value::array({1, "a"})}) {
    expect_refused(server.post("/v1/embeddings", {{"model", "rows"}, {"input", input}}), "input");
  }
  expect_refused(
      server.post("/v1/embeddings", {{"model", "rows"}, {"input", "a"}, {"dimensions", 1 << 20}}),
      "dimensions");
  expect_refused(server.post("/v1/chat/completions", capital_chat({{"model", "rows"}})), "model");
  const Value ranked = server
                           .post("/v1/rerank", {{"model", "rows"},
                                                {"query", "a fox"},
                                                {"documents", {"a white lamp", "a fox"}},
                                                {"return_documents", true}})
                           .json();
  ASSERT_EQ(ranked["results"].size(), 2u) << ranked;
  EXPECT_EQ(ranked["results"][0]["index"], 1);
  EXPECT_EQ(ranked["results"][0]["document"]["text"], "a fox");
}

TEST(ServerRerank, TextsAreAnsweredByAListAlone) {
  const tenon::Model model(TENON_DEMO_MODEL,
                           {.threads = 1, .default_context = 16, .embeddings = "on"});
  RunningServer server({}, false);
  ASSERT_EQ(tenon_server_add_model(server.get(), "rows", 4, model.get(), nullptr, 0), TENON_OK)
      << tenon_server_last_error();
  ASSERT_EQ(tenon_server_start(server.get(), 0), TENON_OK);
  const auto ask = [&](const Value& changes) {
    Value body{
        {"model", "rows"}, {"query", "a fox"}, {"texts", {"a white lamp", "a fox", "a red fox"}}};
    body.update(changes);
    return server.post("/rerank", body);
  };
  const Value list = ask(Value::object()).json();
  ASSERT_TRUE(list.is_array()) << list;
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0]["index"], 1);
  EXPECT_EQ(list[0].size(), 2u) << "index and score";
  // Cosines of rows are not logits.
  EXPECT_NEAR(list[0]["score"].get<double>(), 1, 1e-3);
  EXPECT_GE(list[1]["score"].get<double>(), list[2]["score"].get<double>());
  EXPECT_EQ(ask({{"raw_scores", true}}).json(), list);
  const Value told = ask({{"return_text", true}, {"top_n", 1}}).json();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["text"], "a fox");

  expect_refused(ask({{"documents", {"b"}}}), "texts");
  for (const Value& texts : {Value("a"), Value::array(), Value::array({5}), Value{{"a", 1}},
                             Value::array({Value{{"text", "a"}}})}) {
    expect_refused(ask({{"texts", texts}}), "texts");
  }
  for (const char* field : {"return_text", "raw_scores", "truncate"}) {
    expect_refused(ask({{field, "yes"}}), field);
  }
  expect_refused(ask({{"truncation_direction", "Left"}}), "truncation_direction");
  const Value longer{{"texts", {std::string(20000, 'x')}}};
  expect_refused(ask(longer), "texts");
  Value cut = longer;
  cut.update({{"truncate", true}, {"truncation_direction", "Right"}});
  EXPECT_EQ(ask(cut).status, 200) << ask(cut).body;
}

TEST_F(InterfacesTest, EmbeddingsOfAModelThatGeneratesAreRefused) {
  expect_refused(server().post("/v1/embeddings", {{"model", "demo"}, {"input", "a"}}), "model");
  expect_refused(
      server().post("/v1/rerank", {{"model", "demo"}, {"query", "a"}, {"documents", {"b"}}}),
      "model");
}

}  // namespace
}  // namespace tenon_http::test
