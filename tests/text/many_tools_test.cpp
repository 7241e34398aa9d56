// Grammars of many tools: their joint limit, and a watch over their compilation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "text/chat/chat.h"

namespace tenon {
namespace {

using testing::HasSubstr;

/// Counts calls of look(); throws at call number `last`.
class ToolWatch : public WorkWatch {
 public:
  explicit ToolWatch(size_t last = SIZE_MAX) : last_(last) {}
  void look() override {
    if (++num_looks == last_) fail(Code::Cancelled, "enough");
  }

  size_t num_looks = 0;

 private:
  size_t last_;
};

/// Pattern that compiles slowly, different for each n.
std::string heavy_pattern(int n) {
  return "^(a|b" + std::to_string(n) + ")*(c|d).{0,14}x[^y]{3,8}$";
}

std::string heavy_tools(int count) {
  std::string tools;
  for (int i = 0; i < count; ++i) {
    tools +=
        std::string(i > 0 ? "," : "") + R"({"function": {"name": "t)" + std::to_string(i) +
        R"(", "parameters": {"type": "object", "properties": {"p": {"type": "string", "pattern": ")" +
        heavy_pattern(i) + R"("}}}}})";
  }
  return R"({"messages": [], "tools": [)" + tools + "]}";
}

Chat chat_of_tools() {
  return Chat({.source = "{% if add_generation_prompt %}{% endif %}{# [ARGS] #}",
               .source_name = "t",
               .format = "hermes",
               .raw = true},
              nullptr);
}

TEST(ManyTools, LooksAtToolsAndEndsThem) {
  const Chat chat = chat_of_tools();
  const ChatPrompt prompt = chat.render(heavy_tools(8));
  ToolWatch ending(40);
  EXPECT_THROW((void)chat.answer_grammar(prompt, &ending), Error);
  EXPECT_EQ(ending.num_looks, 40u);
  ToolWatch counting;
  EXPECT_NE(chat.answer_grammar(prompt, &counting), nullptr) << "nothing broken is kept";
  EXPECT_GT(counting.num_looks, 40u);
}

// All tools together may take sixteen times the work of one.
TEST(ManyTools, AllToolsTogetherHaveALimit) {
  const Chat chat = chat_of_tools();
  EXPECT_NE(chat.answer_grammar(chat.render(heavy_tools(16))), nullptr);
  const ChatPrompt too_much = chat.render(heavy_tools(500));
  for (int i = 0; i < 2; ++i) {  // the second time, most tools are cached
    try {
      (void)chat.answer_grammar(too_much);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Limit);
      EXPECT_THAT(error.what(),
                  HasSubstr("all tools together take more than 16 times the work of one"));
    }
  }
}

// Shared parts count once: a list may be as long as the server allows.
TEST(ManyTools, OrdinaryToolsDoNotReachTheLimit) {
  std::string tools;
  for (int i = 0; i < 1024; ++i) {
    const std::string own = std::to_string(i);
    tools += std::string(i > 0 ? "," : "") + R"({"function": {"name": "t)" + own +
             R"(", "parameters": {"type": "object", "properties": {
                 "id": {"type": "string", "format": "uuid"},
                 "when)" +
             own + R"(": {"type": "string", "format": "date-time"},
                 "title": {"type": "string", "maxLength": )" +
             std::to_string(200 + i) + R"(},
                 "page": {"type": "integer", "minimum": 1, "maximum": )" +
             std::to_string(1000 + i) + "}}}}}";
  }
  const Chat chat = chat_of_tools();
  const ChatPrompt prompt = chat.render(R"({"messages": [], "tools": [)" + tools + "]}");
  EXPECT_NE(chat.answer_grammar(prompt), nullptr);
}

}  // namespace
}  // namespace tenon
