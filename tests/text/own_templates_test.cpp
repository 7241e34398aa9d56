// Families whose models ship no template: templates by name render as their published encoders
// write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/base/expect_error.h"
#include "text/chat/chat.h"

namespace tenon {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Variables have the reference's names: "bos_token" is its tokenizer's.
std::string rendered_own(const std::string& rest) {
  const Chat chat({.format = "deepseek-v4.1"}, nullptr);
  const ChatPrompt prompt =
      chat.render(R"({"bos_token": "<｜begin▁of▁sentence｜>", )" + rest + "}");
  return std::string(prompt.text.view());
}

// The encoder of deepseek-ai/DeepSeek-V4.1-Flash, encoding/encoding.py, by the rules of
// render_message, merge_tool_messages and sort_tool_results_by_call_order.
constexpr const char* kBos = "<｜begin▁of▁sentence｜>";
constexpr const char* kEos = "<｜end▁of▁sentence｜>";

std::string effort(int budget) {
  return "<｜System｜>Reasoning Effort: " + std::to_string(budget) +
         " (range 1-100, the higher the value, the more thorough the reasoning)\n\n";
}

TEST(DeepSeekV41Template, WritesAnswersWithAndWithoutReasoning) {
  const std::string messages = R"("messages": [{"role": "user", "content": "Hi"}])";
  EXPECT_EQ(rendered_own(messages), std::string(kBos) + "<｜User｜>Hi<｜Assistant｜></think>");
  EXPECT_EQ(rendered_own(messages + R"(, "thinking": true)"),
            kBos + effort(75) + "<｜User｜>Hi<｜Assistant｜><think>");
  EXPECT_EQ(rendered_own(messages + R"(, "enable_thinking": true, "reasoning_effort": "low")"),
            kBos + effort(50) + "<｜User｜>Hi<｜Assistant｜><think>");
  EXPECT_EQ(rendered_own(messages + R"(, "thinking": true, "reasoning_effort": 33)"),
            kBos + effort(33) + "<｜User｜>Hi<｜Assistant｜><think>");
  EXPECT_EQ(rendered_own(messages + R"(, "add_generation_prompt": false)"),
            std::string(kBos) + "<｜User｜>Hi");
  for (const char* odd : {"0", "101", "\"much\""}) {
    expect_error(Code::Template, HasSubstr("reasoning_effort"), [&] {
      (void)rendered_own(messages + R"(, "thinking": true, "reasoning_effort": )" + odd);
    });
  }
}

TEST(DeepSeekV41Template, KeepsReasoningAfterTheLastQuestionOnly) {
  const std::string messages = R"("messages": [{"role": "system", "content": "Be brief."},
      {"role": "user", "content": "1+1?"},
      {"role": "assistant", "reasoning_content": "easy", "content": "2"},
      {"role": "system", "content": "Longer now."},
      {"role": "assistant", "reasoning_content": "hm", "content": "Two."},
      {"role": "user", "content": [{"type": "text", "text": "2+2?"},
                                   {"type": "text", "text": "And 3+3?"}]}])";
  const std::string after = "<｜User｜>1+1?<｜Assistant｜>";
  EXPECT_EQ(rendered_own(messages), kBos + std::string("<｜System｜>Be brief.") + after +
                                        "</think>2" + kEos +
                                        "<｜System｜>Longer now.<｜Assistant｜></think>Two." +
                                        kEos + "<｜User｜>2+2?\n\nAnd 3+3?<｜Assistant｜></think>");
  EXPECT_EQ(rendered_own(messages + R"(, "thinking": true)"),
            kBos + effort(75) + "Be brief." + after + "</think>2" + kEos +
                "<｜System｜>Longer now.<｜Assistant｜></think>Two." + kEos +
                "<｜User｜>2+2?\n\nAnd 3+3?<｜Assistant｜><think>");
  EXPECT_EQ(rendered_own(messages + R"(, "thinking": true, "drop_thinking": false)"),
            kBos + effort(75) + "Be brief." + after + "<think>easy</think>2" + kEos +
                "<｜System｜>Longer now.<｜Assistant｜><think>hm</think>Two." + kEos +
                "<｜User｜>2+2?\n\nAnd 3+3?<｜Assistant｜><think>");
}

TEST(DeepSeekV41Template, WritesToolsCallsAndResultsInTheOrderOfTheCalls) {
  const std::string tools = R"("tools": [{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object"}}}, {"type": "function", "function": {"name": "g"}}])";
  const std::string messages = R"("messages": [{"role": "user", "content": "Go"},
      {"role": "assistant", "reasoning_content": "think", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f",
            "arguments": {"x": "5", "y": 5, "z": {"l": [true, null]}}}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "b", "content": "second"},
      {"role": "tool", "tool_call_id": "a", "content": "first"},
      {"role": "user", "content": "Well?"}])";
  const std::string text = rendered_own(messages + ", " + tools + R"(, "thinking": true)");
  EXPECT_THAT(text, StartsWith(kBos + effort(75) + "\n\n## Tools\n\nYou have access to a set"));
  EXPECT_THAT(text, HasSubstr("writing a \"<｜DSML｜ calls>\" block like the following:\n\n"
                              "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"$TOOL_NAME\">\n"));
  EXPECT_THAT(text, HasSubstr("### Available Tool Schemas\n\n"
                              "{\"name\": \"f\", \"parameters\": {\"type\": \"object\"}}\n"
                              "{\"name\": \"g\"}\n\nYou MUST strictly follow"));
  EXPECT_THAT(
      text,
      EndsWith("to invoke tool calls.\n<｜User｜>Go<｜Assistant｜><think>think</think>\n\n"
               "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n"
               "<｜DSML｜ parameter name=\"x\" string=\"true\">5</｜DSML｜ parameter>\n"
               "<｜DSML｜ parameter name=\"y\" string=\"false\">5</｜DSML｜ parameter>\n"
               "<｜DSML｜ parameter name=\"z\" string=\"false\">{\"l\": [true, null]}"
               "</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n<｜DSML｜ invoke name=\"g\">\n\n"
               "</｜DSML｜ invoke>\n</｜DSML｜ calls><｜end▁of▁sentence｜>"
               "<｜User｜><tool_result>first</tool_result>\n\n<tool_result>second</tool_result>\n\n"
               "Well?<｜Assistant｜><think>"));
}

TEST(DeepSeekV41Template, IsTakenByNameAndGivesWayToTheModelsOwn) {
  EXPECT_EQ(Chat({.source = "own {{ messages[0]['content'] }}", .format = "deepseek-v4.1"}, nullptr)
                .render(R"({"messages": [{"role": "user", "content": "Hi"}]})")
                .text.view(),
            "own Hi");
  EXPECT_EQ(detect_chat_format(find_chat_format("deepseek-v4.1")->own_template).name,
            "deepseek-v4.1");
}

}  // namespace
}  // namespace tenon
