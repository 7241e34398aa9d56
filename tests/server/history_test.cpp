// Returned conversations: each interface accepts as history what a cut stream has sent. A whole
// answer that was cut equals the stream's.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

using testing::HasSubstr;

constexpr const char* kWeather = "What is the weather in Paris?";
const Value kParameters = Value::parse(
    R"({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]})");

Value weather_chat(const Value& changes = Value::object()) {
  Value body{{"model", "demo"},
             {"messages", user_message(kWeather)},
             {"tools",
              {{{"type", "function"},
                {"function",
                 {{"name", "get_weather"},
                  {"description", "Tells the weather."},
                  {"parameters", kParameters}}}}}},
             {"max_tokens", 40},
             {"temperature", 0}};
  body.update(changes);
  return body;
}

/// Model that reasons before it answers.
const tenon::Model& thinking_model() {
  static const tenon::Model model(
      TENON_DEMO_MODEL,
      {.threads = 2,
       .extra = {
           {"override",
            "tokenizer.chat_template=str:{%- for m in messages %}{{ '<|im_start|>' + m.role + "
            "'\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{%- if add_generation_prompt "
            "%}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"}}});
  return model;
}

/// Assistant message that clients join from the first `count` events of a chat.
Value chat_message(const std::vector<Value>& events, size_t count) {
  Value message{{"role", "assistant"}, {"content", ""}};
  for (size_t i = 0; i < count; ++i) {
    if (!events[i].is_object() || events[i]["choices"].empty()) continue;
    const Value& delta = events[i]["choices"][0]["delta"];
    for (const char* text : {"content", "reasoning_content"}) {
      if (delta.contains(text)) {
        message[text] = message.value(text, "") + delta[text].get<std::string>();
      }
    }
    for (const Value& call : delta.value("tool_calls", Value::array())) {
      if (call.contains("id")) {
        message["tool_calls"].push_back(call);
      } else {
        Value& arguments = message["tool_calls"][call["index"].get<size_t>()]["function"];
        arguments["arguments"] = arguments["arguments"].get<std::string>() +
                                 call["function"]["arguments"].get<std::string>();
      }
    }
  }
  return message;
}

/// Conversation that continues after an assistant message.
Value chat_after(const Value& message) {
  Value messages = user_message(kWeather);
  messages.push_back(message);
  for (const Value& call : message.value("tool_calls", Value::array())) {
    messages.push_back({{"role", "tool"}, {"tool_call_id", call["id"]}, {"content", "cut"}});
  }
  messages.push_back({{"role", "user"}, {"content", "Go on."}});
  return messages;
}

class HistoryTest : public ServerTest {
 protected:
  static std::vector<Value> stream(std::string_view path, Value body,
                                   const RunningServer& from = server()) {
    body["stream"] = true;
    const Reply reply = from.post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    return events_of(reply.body);
  }
  static void takes(std::string_view path, const Value& body, const RunningServer& at = server()) {
    const Reply reply = at.post(path, body);
    EXPECT_EQ(reply.status, 200) << body.dump() << "\n" << reply.body;
  }
};

TEST_F(HistoryTest, ChatsAreTakenBackWhereverTheyWereCut) {
  const std::vector<Value> events = stream(kChat, weather_chat());
  ASSERT_TRUE(chat_message(events, events.size()).contains("tool_calls"));
  for (size_t count = 0; count <= events.size(); ++count) {
    const Value message = chat_message(events, count);
    takes(kChat, weather_chat({{"messages", chat_after(message)}, {"max_tokens", 1}}));
    Value ends_so = user_message(kWeather);
    ends_so.push_back(message);
    takes(kChat, weather_chat({{"messages", ends_so}, {"max_tokens", 1}}));
  }
}

TEST_F(HistoryTest, ThinkingChatsAreTakenBackWhereverTheyWereCut) {
  const RunningServer thinking({}, true, {.model = thinking_model().get()});
  const Value body = capital_chat();
  const std::vector<Value> events = stream(kChat, body, thinking);
  ASSERT_TRUE(chat_message(events, events.size()).contains("reasoning_content"));
  for (size_t count = 0; count <= events.size(); ++count) {
    takes(kChat,
          capital_chat({{"messages", chat_after(chat_message(events, count))}, {"max_tokens", 1}}),
          thinking);
  }
}

TEST_F(HistoryTest, CompletionsGoOnFromWhateverCame) {
  const Value body{
      {"model", "demo"}, {"prompt", "Once upon a time"}, {"max_tokens", 12}, {"temperature", 0}};
  std::string prompt = body["prompt"];
  for (const Value& event : stream("/v1/completions", body)) {
    if (event.is_object()) prompt += event["choices"][0]["text"].get<std::string>();
    Value next = body;
    next.update({{"prompt", prompt}, {"max_tokens", 1}});
    takes("/v1/completions", next);
  }
}

TEST_F(HistoryTest, ResponsesAreTakenBackWhereverTheyWereCut) {
  const Value tool{{"type", "function"}, {"name", "get_weather"}, {"parameters", kParameters}};
  Value body{{"model", "demo"},
             {"input", kWeather},
             {"tools", {tool}},
             {"max_output_tokens", 40},
             {"temperature", 0}};
  Value items = Value::array();
  bool has_call = false;
  for (const Value& event : stream("/v1/responses", body)) {
    const std::string type = event.value("type", "");
    if (type == "response.output_item.added") items.push_back(event["item"]);
    if (type == "response.function_call_arguments.delta") {
      Value& arguments = items.back()["arguments"];
      arguments = arguments.get<std::string>() + event["delta"].get<std::string>();
      has_call = true;
    }
    if (type == "response.output_text.delta") {
      Value& content = items.back()["content"];
      if (content.empty()) content.push_back({{"type", "output_text"}, {"text", ""}});
      content[0]["text"] =
          content[0]["text"].get<std::string>() + event["delta"].get<std::string>();
    }
    Value input = user_message(kWeather);
    for (const Value& item : items) {
      input.push_back(item);
      if (item["type"] != "function_call") continue;
      input.push_back(
          {{"type", "function_call_output"}, {"call_id", item["call_id"]}, {"output", "cut"}});
    }
    input.push_back({{"role", "user"}, {"content", "Go on."}});
    Value next = body;
    next.update({{"input", input}, {"max_output_tokens", 1}});
    takes("/v1/responses", next);
  }
  EXPECT_TRUE(has_call);
}

TEST_F(HistoryTest, StoredResponsesThatWereCutGoOn) {
  for (int limit = 8; limit < 30; limit += 3) {
    Value body{
        {"model", "demo"},
        {"input", kWeather},
        {"tools", {{{"type", "function"}, {"name", "get_weather"}, {"parameters", kParameters}}}},
        {"max_output_tokens", limit},
        {"temperature", 0}};
    const Value first = server().post("/v1/responses", body).json();
    body.update({{"previous_response_id", first["id"]}, {"input", "Go on."}});
    takes("/v1/responses", body);
  }
}

/// Blocks of a message's first events. Incomplete JSON arguments stay text.
Value message_blocks(const std::vector<Value>& events, size_t count) {
  Value blocks = Value::array();
  for (size_t i = 0; i < count; ++i) {
    if (!events[i].is_object()) continue;
    if (events[i]["type"] == "content_block_start") blocks.push_back(events[i]["content_block"]);
    if (events[i]["type"] != "content_block_delta") continue;
    const Value& delta = events[i]["delta"];
    Value& block = blocks.back();
    const auto grow = [&](const char* member, const char* more) {
      if (delta.contains(more)) {
        block[member] = block[member].get<std::string>() + delta[more].get<std::string>();
      }
    };
    grow("text", "text");
    grow("thinking", "thinking");
    grow("signature", "signature");
    if (delta.contains("partial_json")) {
      if (block["input"].is_object()) block["input"] = "";
      grow("input", "partial_json");
    }
  }
  for (Value& block : blocks) {
    if (block["type"] != "tool_use" || !block["input"].is_string()) continue;
    const Value read = Value::parse(block["input"].get<std::string>(), nullptr, false);
    if (read.is_object()) block["input"] = read;
  }
  return blocks;
}

Value message_body(const Value& messages, int max_tokens) {
  return {{"model", "demo"},
          {"messages", messages},
          {"tools", {{{"name", "get_weather"}, {"input_schema", kParameters}}}},
          {"max_tokens", max_tokens},
          {"temperature", 0}};
}

void replay_messages(const RunningServer& server, const char* question, const char* kind) {
  Value body = message_body(user_message(question), 40);
  body["stream"] = true;
  const Reply reply = server.post("/v1/messages", body);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const std::vector<Value> events = events_of(reply.body);
  bool has_kind = false;
  for (size_t count = 0; count <= events.size(); ++count) {
    const Value blocks = message_blocks(events, count);
    Value messages = user_message(question);
    messages.push_back({{"role", "assistant"}, {"content", blocks}});
    const Reply ended = server.post("/v1/messages", message_body(messages, 1));
    EXPECT_EQ(ended.status, 200) << blocks << ended.body;
    Value next = Value::array();
    for (const Value& block : blocks) {
      has_kind = has_kind || block["type"] == kind;
      if (block["type"] == "tool_use") {
        next.push_back({{"type", "tool_result"}, {"tool_use_id", block["id"]}, {"content", "cut"}});
      }
    }
    next.push_back({{"type", "text"}, {"text", "Go on."}});
    messages.push_back({{"role", "user"}, {"content", next}});
    const Reply taken = server.post("/v1/messages", message_body(messages, 1));
    EXPECT_EQ(taken.status, 200) << blocks << taken.body;
  }
  EXPECT_TRUE(has_kind) << reply.body;
}

TEST_F(HistoryTest, MessagesAreTakenBackWhereverTheyWereCut) {
  replay_messages(server(), kWeather, "tool_use");
  replay_messages(RunningServer({}, true, {.model = thinking_model().get()}),
                  "What is the capital of Norway?", "thinking");
}

TEST_F(HistoryTest, WholeAnswersThatWereCutShowWhatTheStreamShowed) {
  bool has_cut_call = false;
  for (int limit = 1; limit < 30; ++limit) {
    const Value changes{{"max_tokens", limit}};
    const std::vector<Value> events = stream(kChat, weather_chat(changes));
    const Value streamed = chat_message(events, events.size());
    const Value answer = server().post(kChat, weather_chat(changes)).json();
    const Value& whole = answer["choices"][0]["message"];
    const Value content = whole["content"].is_null() ? Value("") : whole["content"];
    EXPECT_EQ(content, streamed["content"]) << limit;
    const Value calls = whole.value("tool_calls", Value::array());
    const Value streamed_calls = streamed.value("tool_calls", Value::array());
    ASSERT_EQ(calls.size(), streamed_calls.size()) << limit << answer;
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(calls[i]["function"], streamed_calls[i]["function"]) << limit;
      has_cut_call = has_cut_call || answer["choices"][0]["finish_reason"] == "length";
    }
    const Reply message =
        server().post("/v1/messages", message_body(user_message(kWeather), limit));
    ASSERT_EQ(message.status, 200) << message.body;
    size_t num_uses = 0;
    const Value shown = message.json();
    for (const Value& block : shown["content"]) {
      // Markup cut before the name of a call is text, in streams as well.
      const bool has_markup = block.dump().find("<tool_call>") != std::string::npos;
      EXPECT_FALSE(has_markup && !calls.empty()) << block;
      if (block["type"] != "tool_use") continue;
      ++num_uses;
      EXPECT_TRUE(block["input"].is_object());
    }
    EXPECT_EQ(num_uses, calls.size()) << limit << message.body;
  }
  EXPECT_TRUE(has_cut_call);
}

TEST_F(HistoryTest, ArgumentsThatAreNoObjectAreNoted) {
  for (const char* arguments :
       {"{", "{\"city\": \"Par", "{\"a\": 1}{\"b\": 2}", "{'a': 1}", "[1]"}) {
    const Value message{{"role", "assistant"},
                        {"content", nullptr},
                        {"tool_calls",
                         {{{"id", "call_1"},
                           {"type", "function"},
                           {"function", {{"name", "get_weather"}, {"arguments", arguments}}}}}}};
    const Reply reply =
        server().post(kChat, weather_chat({{"messages", chat_after(message)}, {"max_tokens", 1}}));
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_THAT(reply.headers.at("tenon-notes"),
                HasSubstr("messages[1].tool_calls[0].function.arguments"));
  }
  Value wrong = weather_chat();
  wrong["messages"].push_back(
      {{"role", "assistant"},
       {"tool_calls", {{{"id", "c"}, {"function", {{"name", "f"}, {"arguments", 5}}}}}}});
  expect_refused(server().post(kChat, wrong), "messages[1].tool_calls[0].function.arguments");
}

TEST_F(HistoryTest, HalfSurrogatesBecomeReplacementCharacters) {
  const auto tokens_of = [](const std::string& content) {
    return HttpClient(server().port())
        .request(
            "POST", "/tokenize",
            R"({"model": "demo", "messages": [{"role": "user", "content": ")" + content + "\"}]}");
  };
  const Reply replaced = tokens_of("cut \\ufffd here");
  for (const char* half : {"\\ud83d", "\\ude00"}) {
    const Reply reply = tokens_of("cut " + std::string(half) + " here");
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json()["tokens"], replaced.json()["tokens"]) << half;
  }
  EXPECT_EQ(tokens_of("cut \xff here").status, 400);
}

TEST_F(HistoryTest, SeveralTextsOfOneMessageAreJoinedAsTheLibraryJoinsThem) {
  const auto tokens_of = [](const char* role, const Value& content) {
    Value messages = Value::array({{{"role", role}, {"content", content}}});
    messages.push_back({{"role", "user"}, {"content", "x"}});
    return server().post("/tokenize", {{"model", "demo"}, {"messages", messages}}).json()["tokens"];
  };
  const Value parts = Value::parse(
      R"([{"type": "text", "text": "The end."}, {"type": "text", "text": "The begin"}])");
  for (const char* role : {"user", "system", "assistant"}) {
    EXPECT_EQ(tokens_of(role, parts), tokens_of(role, "The end.\nThe begin")) << role;
  }
  const tenon::Chat chat(demo_model());
  EXPECT_EQ(
      chat.render(Value{{"messages", {{{"role", "user"}, {"content", parts}}}}}.dump()),
      chat.render(
          Value{{"messages", {{{"role", "user"}, {"content", "The end.\nThe begin"}}}}}.dump()));
  // Also blocks of the messages interface.
  const auto count = [](const Value& content) {
    return server()
        .post("/v1/messages/count_tokens",
              {{"model", "demo"}, {"messages", {{{"role", "user"}, {"content", content}}}}})
        .json()["input_tokens"];
  };
  EXPECT_EQ(count(parts), count("The end.\nThe begin"));
}

TEST_F(HistoryTest, WideWholeNumbersStayNumbersInThePrompt) {
  for (const char* number : {"9223372036854775807", "9223372036854775808", "18446744073709551616",
                             "-9223372036854775809", "1000000000000000000000000000000"}) {
    const std::string arguments = std::string("{\"n\": ") + number + "}";
    Value body = weather_chat();
    body["messages"].push_back(
        {{"role", "assistant"},
         {"tool_calls", {{{"id", "c"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}});
    const Value tokens = server().post("/tokenize", body).json()["tokens"];
    const Value text =
        server().post("/detokenize", {{"model", "demo"}, {"tokens", tokens}}).json()["prompt"];
    EXPECT_THAT(text.get<std::string>(), HasSubstr("\"arguments\": " + arguments));
  }
}

TEST_F(HistoryTest, TurnsOfTheAssistantAreContinued) {
  Value messages = user_message("What is the capital of Norway?");
  const Value whole = server().post(kChat, capital_chat()).json();
  const std::string text = whole["choices"][0]["message"]["content"];
  const std::string begin = text.substr(0, text.find(' '));
  messages.push_back({{"role", "assistant"}, {"content", begin}});
  const Value more{
      {"messages", messages}, {"continue_final_message", true}, {"add_generation_prompt", false}};
  const Reply reply = server().post(kChat, capital_chat(more));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(begin + reply.json()["choices"][0]["message"]["content"].get<std::string>(), text);
  const std::vector<Value> events = stream(kChat, capital_chat(more));
  EXPECT_EQ(begin + chat_message(events, events.size())["content"].get<std::string>(), text);
  // The messages interface continues without a field.
  const Value message =
      server()
          .post("/v1/messages",
                {{"model", "demo"}, {"messages", messages}, {"max_tokens", 24}, {"temperature", 0}})
          .json();
  EXPECT_EQ(begin + message["content"][0]["text"].get<std::string>(), text);

  Value both = more;
  both["add_generation_prompt"] = true;
  expect_refused(server().post(kChat, capital_chat(both)), "add_generation_prompt");
  expect_refused(server().post(kChat, capital_chat({{"continue_final_message", true}})),
                 "continue_final_message");
  Value formatted = more;
  formatted["response_format"] = {{"type", "json_object"}};
  expect_refused(server().post(kChat, capital_chat(formatted)), "response_format");
  // Without a prompt for an answer, the tokens end with the turn.
  const auto count = [&](const Value& changes) {
    return server().post("/tokenize", capital_chat(changes)).json()["count"].get<int>();
  };
  EXPECT_LT(count({{"add_generation_prompt", false}}), count(Value::object()));
  EXPECT_LT(count(more), count({{"messages", messages}}));
}

}  // namespace
}  // namespace tenon_http::test
