// Conversations that a template does not take unchanged: tools described as text, a separate
// template for tools, continued turns, and unreadable output of models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/base/expect_error.h"
#include "text/chat/chat.h"

namespace tenon {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kPlain =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";
const std::string kTools = R"("tools": [{"type": "function", "function": {"name": "f",)"
                           R"("parameters": {"type": "object", "properties": {}}}}])";
const std::string kCall =
    R"({"role": "user", "content": "q"}, {"role": "assistant", "content": "I call.",
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "1"}, {"role": "tool", "content": "2"})";

std::string rendered(const Chat& chat, const std::string& messages, const std::string& more = "") {
  return std::string(chat.render(R"({"messages": [)" + messages + "]" + more + "}").text.view());
}

Chat generic_chat(const std::string& source) {
  return Chat({.source = source, .source_name = "t", .generic_tools = true}, nullptr);
}

TEST(GenericTools, ToolsCallsAndResultsBecomeTexts) {
  const Chat chat = generic_chat(kPlain);
  const std::string text =
      rendered(chat, kCall + R"(, {"role": "user", "content": "Go on."})", ", " + kTools);
  EXPECT_THAT(text, StartsWith("<system># Tools"));
  EXPECT_THAT(text, HasSubstr(R"(<tools>
{"type": "function", "function": {"name": "f")"));
  EXPECT_THAT(text,
              HasSubstr("<assistant>I call.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n"
                        "</tool_call>\n<user><tool_response>\n1\n</tool_response>\n<tool_response>"
                        "\n2\n</tool_response>\nGo on.\n<assistant>"));
  EXPECT_EQ(rendered(chat, R"({"role": "user", "content": "q"})"), "<user>q\n<assistant>");
}

TEST(GenericTools, StandInTheFirstMessageThatTheTemplateShows) {
  const Chat chat = generic_chat(kPlain);
  EXPECT_THAT(
      rendered(chat, R"({"role": "system", "content": "s"}, {"role": "user", "content": "q"})",
               ", " + kTools),
      StartsWith("<system>s\n\n# Tools"));
  const Chat without_system = generic_chat(
      "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}");
  EXPECT_THAT(rendered(without_system, R"({"role": "user", "content": "q"})", ", " + kTools),
              testing::AllOf(StartsWith("<user># Tools"), testing::EndsWith("</tool_call>\n\nq")));
}

TEST(GenericTools, AreReadAndConstrainedAsHermesWritesThem) {
  const Chat chat = generic_chat(kPlain);
  EXPECT_EQ(chat.format().name, "hermes");
  const ChatPrompt prompt = chat.render(R"({"messages": [{"role": "user", "content": "q"}], )" +
                                        kTools + R"(, "tool_choice": "required"})");
  EXPECT_NE(chat.answer_grammar(prompt), nullptr);
  ReplyParser parser = chat.make_parser(prompt);
  parser.push("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>");
  parser.finish();
  ASSERT_EQ(parser.message().calls.size(), 1U);
  EXPECT_EQ(parser.message().calls[0].name, "f");
}

TEST(GenericTools, LeaveTemplatesAloneThatKnowTools) {
  const Chat chat = generic_chat("{{ tools|tojson if tools }}" + kPlain);
  EXPECT_THAT(rendered(chat, R"({"role": "user", "content": "q"})", ", " + kTools),
              Not(HasSubstr("# Tools")));
  const Chat off({.source = kPlain, .source_name = "t"}, nullptr);
  EXPECT_THAT(rendered(off, R"({"role": "user", "content": "q"})", ", " + kTools),
              Not(HasSubstr("# Tools")));
}

TEST(ToolTemplate, IsThatOfConversationsWithTools) {
  const Chat chat({.source = kPlain,
                   .source_name = "main",
                   .tool_source = "T" + kPlain + "{# <tool_call> #}",
                   .tool_source_name = "tool_use"},
                  nullptr);
  const std::string question = R"({"role": "user", "content": "q"})";
  EXPECT_THAT(rendered(chat, question), StartsWith("<user>"));
  EXPECT_THAT(rendered(chat, question, ", " + kTools), StartsWith("T<user>"));
  EXPECT_THAT(rendered(chat, question, ", " + kTools + R"(, "tool_choice": "none")"),
              StartsWith("<user>"));
  EXPECT_THAT(rendered(chat, kCall), StartsWith("T<user>"));
  // The template for tools has its own family.
  const ChatPrompt prompt =
      chat.render(R"({"messages": [], )" + kTools + R"(, "tool_choice": "required"})");
  EXPECT_NE(chat.answer_grammar(prompt), nullptr);
}

TEST(ContinuedTurn, EndsThePromptWhereItsTextEnds) {
  const std::string begun =
      R"({"role": "user", "content": "q"}, {"role": "assistant", "content": "One, two "})";
  const std::string more = R"(, "continue_final_message": true)";
  const Chat chat({.source = kPlain, .source_name = "t"}, nullptr);
  EXPECT_EQ(rendered(chat, begun, more), "<user>q\n<assistant>One, two ");
  const Chat trims(
      {.source = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</>{% endfor %}",
       .source_name = "t"},
      nullptr);
  EXPECT_EQ(rendered(trims, begun, more), "<user>q</><assistant>One, two ");
  // Template without assistant turns: the text follows the beginning of an answer.
  const Chat drops({.source = "{% for m in messages if m.role == 'user' %}<{{ m.content }}>"
                              "{% endfor %}{% if add_generation_prompt %}A:{% endif %}",
                    .source_name = "t"},
                   nullptr);
  EXPECT_EQ(rendered(drops, begun, more), "<q>A:One, two ");
  // Leading white space of the answer belongs to the text.
  const ChatPrompt prompt = chat.render(R"({"messages": [)" + begun + "]" + more + "}");
  ReplyParser parser = chat.make_parser(prompt);
  parser.push(" three");
  parser.finish();
  EXPECT_EQ(parser.message().content, " three");
}

TEST(ContinuedTurn, GoesOnWithReasoning) {
  const Chat chat(
      {.source = "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<think>"
                 "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% endfor %}",
       .source_name = "t",
       .format = "hermes"},
      nullptr);
  const ChatPrompt prompt = chat.render(
      R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "",)"
      R"("reasoning_content": "I thi"}], "continue_final_message": true})");
  EXPECT_EQ(prompt.text.view(), "<user>q<assistant><think>I thi");
  ReplyParser parser = chat.make_parser(prompt);
  parser.push("nk.</think>Yes.");
  parser.finish();
  EXPECT_EQ(parser.message().reasoning, "nk.");
  EXPECT_EQ(parser.message().content, "Yes.");
}

TEST(ContinuedTurn, MustBeATextOfTheAssistant) {
  const Chat chat({.source = kPlain, .source_name = "t"}, nullptr);
  const std::string more = R"(, "continue_final_message": true)";
  for (const std::string& messages :
       {std::string(), std::string(R"({"role": "user", "content": "q"})")}) {
    expect_error(Code::Argument, HasSubstr("continue_final_message"),
                 [&] { (void)rendered(chat, messages, more); });
  }
  expect_error(Code::Argument, HasSubstr("a call is not continued"), [&] {
    (void)rendered(chat, R"({"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]})",
                   more);
  });
  const std::string begun = R"({"role": "assistant", "content": "{"})";
  expect_error(Code::Unsupported, HasSubstr("response_format"), [&] {
    const ChatPrompt prompt = chat.render(R"({"messages": [)" + begun + "]" + more +
                                          R"(, "response_format": {"type": "json_object"}})");
    (void)chat.answer_grammar(prompt);
  });
}

TEST(Conversation, ArgumentsThatAreNoObjectReachTemplatesThatNeedOne) {
  const std::string call = R"({"role": "assistant", "content": "", "tool_calls": [{"function":)"
                           R"({"name": "f", "arguments": "{\"a\": \"cu"}}]})";
  const Chat iterates(
      {.source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
                 "{% for k, v in c.function.arguments|items %}{{ k }}={{ v }};{% endfor %}"
                 "{% endfor %}{% endfor %}",
       .source_name = "t"},
      nullptr);
  EXPECT_EQ(rendered(iterates, call), "arguments={\"a\": \"cu;");
  const Chat prints({.source = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
                               "{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}",
                     .source_name = "t"},
                    nullptr);
  EXPECT_EQ(rendered(prints, call), R"("{\"a\": \"cu")");
}

TEST(Conversation, HalfSurrogatesBecomeReplacementCharacters) {
  const Chat chat({.source = kPlain, .source_name = "t"}, nullptr);
  for (const char* half : {"\\ud83d", "\\ude00"}) {
    EXPECT_EQ(rendered(chat, R"({"role": "user", "content": "a)" + std::string(half) + R"(b"})"),
              "<user>a\xef\xbf\xbd"
              "b\n<assistant>");
  }
  EXPECT_EQ(rendered(chat, R"({"role": "user", "content": "\ud83d\ude00 \\ud83d"})"),
            "<user>\xf0\x9f\x98\x80 \\ud83d\n<assistant>");
}

TEST(Conversation, TextsOfAMessageAreJoinedUnlessTheTemplateDoesSo) {
  const std::string parts = R"({"role": "user", "content": [{"type": "text", "text": "a"},)"
                            R"({"type": "text", "text": "b"}]})";
  const Chat takes_parts(
      {.source = "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
                 "{% for p in m.content %}{{ p.text }}|{% endfor %}{% endif %}{% endfor %}",
       .source_name = "t"},
      nullptr);
  EXPECT_EQ(rendered(takes_parts, parts), "a|b|");
  EXPECT_EQ(rendered(Chat({.source = kPlain, .source_name = "t"}, nullptr), parts),
            "<user>a\nb\n<assistant>");
}

TEST(Conversation, ToolChoiceNoneForbidsTheMarksOfCalls) {
  const Chat chat({.source = kPlain + "{# <tool_call> #}", .source_name = "t"}, nullptr);
  const std::string begin = R"({"messages": [{"role": "user", "content": "q"}])";
  EXPECT_EQ(chat.answer_grammar(chat.render(begin + "}")), nullptr);
  EXPECT_NE(chat.answer_grammar(chat.render(begin + ", " + kTools + R"(, "tool_choice": "none"})")),
            nullptr);
}

}  // namespace
}  // namespace tenon
