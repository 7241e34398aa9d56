// From tokens to text: characters, stops, held text, minimum lengths.
#include "engine/answer_text.h"

#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

class AnswerTexts : public testing::Test {
 protected:
  static constexpr Token kEnd = 2;
  static Token byte(char c) { return 3 + static_cast<uint8_t>(c); }
  static EndRules stopping_at(std::vector<std::string> texts, uint64_t min_tokens = 0) {
    EndRules rules;
    rules.stops = std::make_shared<const StopStrings>(texts);
    rules.min_tokens = min_tokens;
    return rules;
  }
  std::string push(std::string_view bytes, const EndRules& rules) {
    std::string text;
    for (const char c : bytes) {
      const AnswerText::Shown shown = answer_.push(byte(c), rules);
      text += shown.text;
      finish_ = shown.finish;
    }
    return text;
  }
  const std::shared_ptr<const Model> model_ = load_tiny();
  AnswerText answer_{*model_->tokenizer()};
  Finish finish_ = Finish::None;
};

TEST_F(AnswerTexts, ShowWholeCharacters) {
  EXPECT_EQ(push("a\xc3", {}), "a");
  EXPECT_EQ(push("\xa9", {}), "\xc3\xa9");
  EXPECT_EQ(push("\xc3", {}), "");
  answer_.restart(4);  // drops the partial character
  EXPECT_EQ(push("b", {}), "b");
  EXPECT_EQ(answer_.num_generated(), 1u);
}

TEST_F(AnswerTexts, EndBeforeAStopOfWhichNothingIsShown) {
  const EndRules rules = stopping_at({"STOP", "never"});
  EXPECT_EQ(push("abST", rules), "ab");
  EXPECT_EQ(finish_, Finish::None);
  EXPECT_EQ(push("OP", rules), "");
  EXPECT_EQ(finish_, Finish::Stop);
}

TEST_F(AnswerTexts, HandOutWhatWasHeldBack) {
  const EndRules rules = stopping_at({"STOP"});
  EXPECT_EQ(push("aST", rules), "a");
  EXPECT_EQ(answer_.take_held(), "ST");
  EXPECT_EQ(answer_.take_held(), "");
  EXPECT_EQ(push("xSTO", rules), "x");
  const AnswerText::Shown last = answer_.push(byte('y'), rules);
  EXPECT_EQ(last.text, "STOy");
  EXPECT_EQ(push("ST", rules), "");
  const AnswerText::Shown end = answer_.push(kEnd, rules);
  EXPECT_EQ(end.finish, Finish::End);
  EXPECT_EQ(end.text, "ST");
  EXPECT_EQ(push("S", rules), "");
  EXPECT_EQ(answer_.with_held(""), "S");
}

TEST_F(AnswerTexts, EndAtTokens) {
  EndRules rules;
  rules.stop_tokens = {byte('q')};
  const AnswerText::Shown stop = answer_.push(byte('q'), rules);
  EXPECT_EQ(stop.finish, Finish::Stop);
  EXPECT_EQ(stop.text, "");
  EXPECT_EQ(answer_.push(kEnd, rules).finish, Finish::End);
  rules.ignore_end = true;
  EXPECT_EQ(answer_.push(kEnd, rules).finish, Finish::None);
}

TEST_F(AnswerTexts, ForbidEndsUntilThereIsEnough) {
  EndRules rules = stopping_at({"a"}, 2);
  rules.stop_tokens = {byte('q')};
  EXPECT_EQ(answer_.forbidden(rules).size(), model_->tokenizer()->end_tokens().size() + 1);
  rules.ignore_end = true;
  EXPECT_EQ(answer_.forbidden(rules).size(), 1u);
  EXPECT_EQ(push("aa", rules), "aa") << "stops before that do not count";
  EXPECT_EQ(finish_, Finish::None);
  EXPECT_TRUE(answer_.forbidden(rules).empty());
  EXPECT_EQ(push("a", rules), "");
  EXPECT_EQ(finish_, Finish::Stop);
}

TEST_F(AnswerTexts, ResumeInTheMiddleOfACharacter) {
  const std::vector<Token> text = {byte('\xc3'), byte('x'), byte('\xc3')};
  answer_.resume(text, 1);
  EXPECT_EQ(answer_.num_generated(), 1u);
  EXPECT_EQ(push("\xa9", {}), "\xc3\xa9");
}

}  // namespace
}  // namespace tenon
