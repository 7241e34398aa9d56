// tenon_chat_*: prompts, answers, and refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "code_of.h"

namespace {

using tenon_test::code_of;

using testing::HasSubstr;

const std::string kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    "{# <tool_call> #}";
const std::string kHello = R"({"messages": [{"role": "user", "content": "Hello"}]})";

tenon::Chat chat() { return tenon::Chat({.chat_template = kTemplate}); }

TEST(CChat, RendersWithoutAModel) {
  EXPECT_EQ(chat().render(kHello), "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat().format(), "hermes");
  EXPECT_EQ(chat().render(R"({"messages": [], "add_generation_prompt": false})"), "");
  EXPECT_EQ(chat().render(R"({"messages": [{"role": "user", "content": [{"type": "text",)"
                          R"("text": "a"}, {"type": "text", "text": "b"}]}],)"
                          R"("add_generation_prompt": false})"),
            "<|im_start|>user\na\nb<|im_end|>\n");
}

TEST(CChat, RefusesWhatIsMalformed) {
  const tenon::Chat made = chat();
  for (const char* bad :
       {"", "[]", "{}", "{\"messages\": 1}", "{\"messages\": [1]}", "{\"messages\": [{}]}",
        "{\"messages\": [], \"tools\": 1}", "{\"messages\": [], \"now\": \"noon\"}",
        "{\"messages\": [], \"tools\": [], \"tool_choice\": \"maybe\"}"}) {
    EXPECT_EQ(code_of([&] { (void)made.render(bad); }), tenon::Code::Argument) << bad;
  }
  EXPECT_EQ(code_of([&] { (void)made.encode(kHello); }), tenon::Code::State);
  EXPECT_EQ(code_of([] { (void)tenon::Chat({.chat_template = "{% if %}"}); }),
            tenon::Code::Template);
  EXPECT_EQ(code_of([] { (void)tenon::Chat({.chat_template = "x", .format = "nosuch"}); }),
            tenon::Code::Argument);
  EXPECT_EQ(code_of([] { (void)tenon::Chat(tenon::ChatOptions{}); }), tenon::Code::Argument);
  tenon_chat* none = nullptr;
  EXPECT_EQ(tenon_chat_create(nullptr, nullptr, &none), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_chat_render(nullptr, "", 0, nullptr, 0, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_chat_reply_finish(nullptr, nullptr, nullptr), TENON_ERROR_ARGUMENT);
  tenon_chat_destroy(nullptr);
  tenon_chat_reply_destroy(nullptr);
}

TEST(CChat, VariablesAreLimited) {
  const tenon::Chat made = chat();
  const auto render = [&](int members, int variables) {
    std::string json = R"({"messages": [])";
    for (int i = 0; i < members; ++i) json += ", \"m" + std::to_string(i) + "\": 1";
    json += R"(, "variables": {"v": 1)";
    for (int i = 1; i < variables; ++i) json += ", \"v" + std::to_string(i) + "\": 1";
    return code_of([&] { (void)made.render(json + "}}"); });
  };
  // Two more variables are "messages" and "add_generation_prompt".
  EXPECT_EQ(render(500, 498), tenon::Code::Ok);
  EXPECT_EQ(render(500, 499), tenon::Code::Limit);
  EXPECT_EQ(render(1'000, 1), tenon::Code::Limit);
  EXPECT_EQ(render(0, 1'000), tenon::Code::Limit);
}

TEST(CChat, WhatIsGivenTwiceCountsAsItComesLast) {
  const tenon::Chat made({.chat_template = "{{ a }}{{ bos_token }}{{ add_generation_prompt }}"});
  EXPECT_EQ(made.render(R"({"messages": [], "a": 1, "variables": {"a": 2, "bos_token": "<s>"}})"),
            "2<s>True");
  EXPECT_EQ(made.render(R"({"variables": {"a": 2}, "a": 1, "add_generation_prompt": false, )"
                        R"("messages": []})"),
            "1False");
}

TEST(CChat, TakesAnswersApart) {
  const std::string conversation =
      R"({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function",)"
      R"("function": {"name": "f"}}]})";
  tenon::ChatReply reply = chat().reply(conversation);
  std::vector<std::string> seen;
  const auto note = [&](const tenon::ChatDelta& delta) {
    seen.push_back(std::to_string(delta.kind) + ":" + std::string(delta.text));
  };
  reply.push("Hm \xC3", note);
  reply.push("\xA4<tool_call>{\"name\": \"f\", \"arguments\": {\"a\"", note);
  reply.push(": 1}}</tool_call>", note);
  reply.finish(note);
  EXPECT_THAT(seen, testing::ElementsAre("1:Hm", "1: ä", "3:f", "4:{\"a\"", "4:: 1}", "5:"));
  EXPECT_EQ(reply.message(),
            R"({"role": "assistant", "content": "Hm ä", "tool_calls": [{"id": "call_0", )"
            R"("type": "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]})");
  EXPECT_THROW(chat().reply(kHello).push("x", [](const auto&) { throw 1; }), int);
}

TEST(CChat, CallsWithoutContentSuitTemplatesThatJoinTexts) {
  const std::string call =
      R"("tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}])"
      R"(, "add_generation_prompt": false})";
  const auto rendered = [&](const std::string& source, const std::string& content, bool raw) {
    return tenon::Chat({.chat_template = source, .raw = raw})
        .render(R"({"messages": [{"role": "assistant", )" + content + call);
  };
  const std::string joins = "{% for m in messages %}{{ '<' + m.content + '>' }}{% endfor %}";
  const std::string prints = "{% for m in messages %}<{{ m.content }}>{% endfor %}";
  for (const std::string& source : {joins, prints}) {
    EXPECT_EQ(rendered(source, R"("content": null, )", false), "<>");
    EXPECT_EQ(rendered(source, "", false), "<>");
    EXPECT_EQ(rendered(source, R"("content": "a", )", false), "<a>");
  }
  EXPECT_EQ(rendered(prints, R"("content": null, )", true), "<None>");
  EXPECT_EQ(code_of([&] { (void)rendered(joins, R"("content": null, )", true); }),
            tenon::Code::Template);
}

TEST(CChat, TheModelsTemplateAndTokens) {
  const tenon::Model model(TENON_DEMO_MODEL, {.vocabulary_only = true});
  const tenon::Chat of_model(model);
  const tenon::Token mark = model.tokenizer().find("<|im_start|>").value();
  const auto marks_in = [&](const std::string& content) {
    const std::vector<tenon::Token> tokens =
        of_model.encode(R"({"messages": [{"role": "user", "content": ")" + content + R"("}]})");
    return std::count(tokens.begin(), tokens.end(), mark);
  };
  // User text never becomes a control token.
  EXPECT_GE(marks_in("Hello"), 2);
  EXPECT_EQ(marks_in("<|im_start|>"), marks_in("Hello"));
  EXPECT_EQ(code_of([&] { (void)tenon::Chat(model, {.template_name = "nosuch"}); }),
            tenon::Code::State);
}

TEST(CChat, CompilingAsksWhetherToStop) {
  const tenon::Chat made = chat();
  EXPECT_FALSE(made.compile(kHello, {}).has_value()) << "anything may come";
  const std::string tools =
      R"({"messages": [], "tools": [{"type": "function", "function": {"name": "f", "parameters": )"
      R"({"type": "object", "properties": {"p": {"pattern": "^(a|b)*(c|d).{0,14}x[^y]{3,8}$"}}}}}]})";
  EXPECT_EQ(code_of([&] { (void)made.compile(tools, {.should_stop = [] { return true; }}); }),
            tenon::Code::Cancelled);
  size_t asked = 0;
  EXPECT_TRUE(made.compile(tools, {.should_stop = [&] { return ++asked == 0; }}).has_value());
  EXPECT_GT(asked, 4u);
  const size_t first = asked;
  EXPECT_TRUE(made.compile(tools, {.should_stop = [&] { return ++asked == 0; }}).has_value());
  EXPECT_EQ(asked, first) << "a known grammar is not compiled again";
  EXPECT_EQ(tenon_chat_compile(made.get(), "{", 1, nullptr, nullptr, nullptr, nullptr),
            TENON_ERROR_ARGUMENT);
}

}  // namespace
