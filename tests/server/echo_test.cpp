// Conversations returned in other words: their meaning, the repaired prompts, and answers equal to
// those computed from scratch.
#include <gmock/gmock.h>

#include <string>

#include "server/compat/echo_repair.h"
#include "server/compat/volatile_lines.h"
#include "server/server_fixture.h"

namespace tenon_http::test {
namespace {

Value assistant(const std::string& content) {
  return {{"role", "assistant"}, {"content", content}};
}

Value user(const std::string& content) { return {{"role", "user"}, {"content", content}}; }

Value call_of(const std::string& id, const std::string& arguments) {
  return {{"role", "assistant"},
          {"content", ""},
          {"tool_calls",
           Value::array({{{"id", id},
                          {"type", "function"},
                          {"function", {{"name", "get_weather"}, {"arguments", arguments}}}}})}};
}

bool means_the_same(const Value& one, const Value& other) {
  const ConversationMeaning a(Value::object(), one);
  const ConversationMeaning b(Value::object(), other);
  return a.num_messages() == b.num_messages() &&
         a.up_to(a.num_messages() - 1) == b.up_to(b.num_messages() - 1);
}

TEST(EchoMemory, KnowsWhatMeansTheSame) {
  const Value said = Value::array({user("Hi"), assistant("Hello!")});
  EXPECT_TRUE(means_the_same(said, Value::array({user(" Hi\n"), assistant("Hello! ")})));
  EXPECT_FALSE(means_the_same(said, Value::array({user("Hi"), assistant("Hello")})));
  EXPECT_FALSE(means_the_same(said, Value::array({user("Hi"), user("Hello!")})));
  Value thought = assistant("Hello!");
  thought["reasoning_content"] = "greet";
  EXPECT_TRUE(means_the_same(said, Value::array({user("Hi"), thought})));
  const Value tool{{"role", "tool"}, {"tool_call_id", "a"}, {"content", "x"}};
  const Value other_tool{{"role", "tool"}, {"tool_call_id", "call_0"}, {"content", "x"}};
  EXPECT_TRUE(means_the_same(
      Value::array({call_of("a", R"({"city":"Lima","days":[1,2]})"), tool}),
      Value::array(
          {call_of("call_0", "{ \"days\" : [1, 2], \"city\" : \"\\u004cima\" }"), other_tool})));
  EXPECT_FALSE(means_the_same(Value::array({call_of("a", R"({"city":"Lima"})")}),
                              Value::array({call_of("a", R"({"city":"Rome"})")})));
  // Numbers as JavaScript parses and prints them.
  EXPECT_TRUE(means_the_same(
      Value::array({call_of("a", R"({"a":20583.000,"b":[1e2,-0.0,18446744073709551615]})")}),
      Value::array({call_of("a", R"({"a":20583,"b":[100,0,18446744073709552000]})")})));
  EXPECT_FALSE(means_the_same(Value::array({call_of("a", R"({"a":1.5})")}),
                              Value::array({call_of("a", R"({"a":1})")})));
  EXPECT_FALSE(means_the_same(Value::array({call_of("a", "{}"), tool}),
                              Value::array({call_of("a", "{}"), other_tool})));
}

TEST(EchoMemory, ForgetsWhatWasUnusedLongest) {
  const auto said = [](int number) {
    return ConversationMeaning(Value::object(),
                               Value::array({user(std::to_string(number)), assistant("x")}));
  };
  EchoMemory memory(4000);
  for (int i = 0; i < 100; ++i) {
    memory.remember(said(i), {i});
    if (i > 0) {
      ASSERT_NE(memory.find(said(0), 1), nullptr) << i;
    }
  }
  EXPECT_EQ(memory.find(said(1), 1), nullptr);
  EXPECT_EQ(memory.find(said(99), 1)->tokens, EchoMemory::Tokens{99});
  memory.remember(said(200), EchoMemory::Tokens(5000));
  EXPECT_EQ(memory.find(said(200), 1), nullptr) << "larger than all of it";
  Value thought = assistant("x");
  thought["reasoning_content"] = "other thoughts";
  const ConversationMeaning changed(Value::object(), Value::array({user("99"), thought}));
  EXPECT_EQ(memory.find(changed, 1), nullptr) << "thoughts that were others";
}

TEST(EchoRepair, LeavesOutVolatileLines) {
  EXPECT_EQ(without_volatile_lines("Be brief."), "Be brief.");
  EXPECT_EQ(without_volatile_lines("x-anthropic-billing-header: cc=1;\n\nBe brief."), "Be brief.");
  EXPECT_EQ(without_volatile_lines("x-anthropic-billing-header: cc=1;"), "");
  EXPECT_EQ(without_volatile_lines("Be.\nx-anthropic-billing-header: 1"),
            "Be.\nx-anthropic-billing-header: 1");
}

/// Template that opens thoughts in the prompt and drops those of earlier turns.
class EchoRepairTest : public testing::Test {
 protected:
  static constexpr const char* kTemplate =
      "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content }}"
      "{%- for call in m.tool_calls or [] %}{{ '<tool_call>\\n{\"name\": \"' + call.function.name "
      "+ "
      "'\", \"arguments\": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}{% endfor "
      "%}"
      "{{ '<|im_end|>\\n' }}{% endfor %}"
      "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

  EchoRepairTest()
      : model_(TENON_DEMO_MODEL,
               {.threads = 2,
                .extra = {{"override", std::string("tokenizer.chat_template=str:") + kTemplate}}}),
        served_("demo", model_.get(), static_cast<const tenon_options*>(nullptr), 1024) {}

  ChatRequest request(const Value& messages) {
    ChatRequest made{.messages = messages};
    made.echo = {&memory_, "client"};
    return made;
  }
  [[nodiscard]] Tokens tokens(const std::string& text) const {
    return served_.tokenizer().encode(text, {.parse_special = true});
  }
  /// Remembers an answer as drawn in these tokens.
  Tokens answered(const Value& messages, const std::string& drawn, const Value& message) {
    ChatRequest made = request(messages);
    const EchoPrompt prompt =
        repair_echo(served_, made, meaning_of(served_, made), encode_prompt(served_, made));
    EchoTurn turn{&memory_, meaning_of(served_, made)};
    turn.remember(prompt.tokens, tokens(drawn), message.dump());
    Tokens all = prompt.tokens;
    for (const tenon::Token token : tokens(drawn)) all.push_back(token);
    return all;
  }
  EchoPrompt repaired(const Value& messages) {
    ChatRequest made = request(messages);
    Tokens rendered = encode_prompt(served_, made);
    return repair_echo(served_, made, meaning_of(served_, made), std::move(rendered));
  }

  tenon::Model model_;
  ServedModel served_;
  EchoMemory memory_{1 << 20};
};

TEST_F(EchoRepairTest, PutsBackWhatWasComputed) {
  Value talk = Value::array({user("What is the capital of Norway?")});
  Value answer = assistant("Oslo");
  answer["reasoning_content"] = "It lies in the north.";
  const Tokens first = answered(talk, "It lies in the north.</think>\n\nOslo<|im_end|>", answer);
  talk.push_back(assistant("Oslo "));
  talk.push_back(user("And of Peru?"));
  const EchoPrompt second = repaired(talk);
  EXPECT_EQ(second.num_repaired, 1u);
  Tokens expected = first;
  for (const tenon::Token token :
       tokens("\n<|im_start|>user\nAnd of Peru?<|im_end|>\n<|im_start|>assistant\n")) {
    expected.push_back(token);
  }
  EXPECT_EQ(second.tokens, expected);
  // A call in other words, two turns later, after the first repair.
  const Tokens called = answered(
      talk, "<tool_call>\n{\"name\":\"get_weather\",  \"arguments\":{\"city\":\"Lima\"}}<|im_end|>",
      call_of("call_0", R"({"city":"Lima"})"));
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), called.begin()));
  talk.push_back(call_of("abc", "{\"city\": \"Lima\"}"));
  talk.push_back({{"role", "tool"}, {"tool_call_id", "abc"}, {"content", "sunny"}});
  const EchoPrompt third = repaired(talk);
  EXPECT_EQ(third.num_repaired, 2u);
  EXPECT_TRUE(std::equal(called.begin(), called.end(), third.tokens.begin()));
  EXPECT_EQ(served_.tokenizer().decode(std::span(third.tokens).subspan(called.size()), true),
            "\n<|im_start|>tool\nsunny<|im_end|>\n<|im_start|>assistant\n");
}

TEST_F(EchoRepairTest, LeavesOtherConversationsAlone) {
  Value talk = Value::array({user("What is the capital of Norway?")});
  (void)answered(talk, "Oslo<|im_end|>", assistant("Oslo"));
  const auto is_rendered = [&](const Value& messages, const ChatRequest::Echo& echo) {
    ChatRequest made = request(messages);
    made.echo = echo;
    const Tokens rendered = encode_prompt(served_, made);
    const EchoPrompt prompt = repair_echo(served_, made, meaning_of(served_, made), rendered);
    return prompt.num_repaired == 0 && prompt.tokens == rendered;
  };
  Value other = talk;
  other.push_back(assistant("Bergen"));
  other.push_back(user("Sure?"));
  EXPECT_TRUE(is_rendered(other, {&memory_, "client"}));
  other[1] = assistant("Oslo");
  EXPECT_FALSE(is_rendered(other, {&memory_, "client"}));
  EXPECT_TRUE(is_rendered(other, {&memory_, "another"}));
  other[0] = user("What is the capital of Sweden?");
  EXPECT_TRUE(is_rendered(other, {&memory_, "client"}));
}

TEST(EchoServer, AnswersAreThoseToThePromptFromNothing) {
  // The first answer's tokens include thoughts, which a client drops.
  const auto chat = [](const RunningServer& server, const Value& messages, const Value& more = {}) {
    Value changes{{"messages", messages}, {"max_tokens", 60}};
    if (more.is_object()) changes.update(more);
    const Reply reply = server.post("/v1/chat/completions", capital_chat(changes));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return reply.json();
  };
  const RunningServer server;
  Value talk = Value::array({user("What is the capital of Norway?")});
  const Value first = chat(server, talk);
  EXPECT_EQ(first["usage"]["reuse"]["repaired_turns"], 0);
  const std::string said = first["choices"][0]["message"]["content"];
  talk.push_back(assistant("  " + said + "\n"));
  talk.push_back(user("What is the capital of Norway?"));
  const Value second = chat(server, talk);
  EXPECT_EQ(second["usage"]["reuse"]["repaired_turns"], 1);
  EXPECT_EQ(second["usage"]["reuse"]["reused_tokens"],
            second["usage"]["prompt_tokens_details"]["cached_tokens"]);
  // Another server without the conversation, which gets its tokens.
  talk[1] = assistant(said);
  const RunningServer fresh;
  const Value exact = chat(fresh, talk);
  EXPECT_EQ(exact["usage"]["reuse"]["repaired_turns"], 0);
  EXPECT_EQ(exact["usage"]["prompt_tokens"], second["usage"]["prompt_tokens"]);
  EXPECT_EQ(exact["choices"][0]["message"]["content"], second["choices"][0]["message"]["content"]);
  // Without echo repair, the client's white space counts.
  talk[1] = assistant("  " + said + "\n");
  const Value off = chat(server, talk, {{"echo_repair", false}});
  EXPECT_EQ(off["usage"]["reuse"]["repaired_turns"], 0);
  EXPECT_GT(off["usage"]["prompt_tokens"], second["usage"]["prompt_tokens"]);
  tenon_server_options forgets{};
  forgets.no_echo_repair = 1;
  const RunningServer none(forgets);
  talk.erase(2);
  (void)chat(none, Value::array({talk[0]}));
  talk.push_back(user("What is the capital of Norway?"));
  EXPECT_EQ(chat(none, talk)["usage"]["reuse"]["repaired_turns"], 0);
}

}  // namespace
}  // namespace tenon_http::test
