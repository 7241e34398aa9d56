// Banned texts against a model with scripted preferences: positions of cuts, and released text.
#include "engine/held_tokens.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/engine/tiny_engine.h"
#include "text/grammar/grammar.h"
#include "text/grammar/mask_cache.h"
#include "text/grammar/matcher.h"

namespace tenon {
namespace {

constexpr Token kEnd = 2;
constexpr size_t kVocab = 300;
constexpr float kNever = -std::numeric_limits<float>::infinity();

Token byte(char c) { return 3 + static_cast<uint8_t>(c); }

class BannedTextsInAnswers : public testing::Test {
 protected:
  static EndRules banning(std::vector<std::string> texts, bool ignore_case = false) {
    EndRules rules;
    rules.banned = std::make_shared<const BannedTexts>(texts, ignore_case);
    return rules;
  }

  /// Logits after the tokens of an answer.
  using Wishes = std::function<std::vector<float>(std::span<const Token> answer)>;
  /// Prefers the first of these texts, byte by byte; if it is barred, the next text with the same
  /// beginning; and the end token after a text. All other tokens have the logit `rest`.
  static Wishes wishes(std::vector<std::string> texts, float rest = 0) {
    return [texts = std::move(texts), rest](std::span<const Token> answer) {
      std::string begun;
      for (const Token token : answer) begun += static_cast<char>(token - 3);
      std::vector<float> logits(kVocab, rest);
      float rank = 50;
      for (const std::string& text : texts) {
        if (!text.starts_with(begun)) continue;
        float& logit =
            logits[text.size() == begun.size() ? kEnd
                                               : static_cast<size_t>(byte(text[begun.size()]))];
        logit = std::max(logit, rank--);
      }
      logits[kEnd] = std::max(logits[kEnd], 1.0f);
      return logits;
    };
  }

  /// A host's view of the answer; also checks pieces without text, finish reasons and so on.
  std::string answer(const Wishes& of_model, const EndRules& rules, uint64_t room = 1000) {
    pieces_.clear();
    finish_ = Finish::None;
    most_held_ = 0;
    std::vector<Token> text = prompt_;
    answer_.restart(text.size());
    answer_.follow(text);
    std::string shown;
    HeldTokens held;
    while (finish_ == Finish::None && room > 0) {
      const auto logits = of_model(std::span<const Token>(text).subspan(prompt_.size()));
      ++num_steps_;
      const HeldTokens::Drawn drawn = held.draw(logits, text, room, sampler_, answer_, rules);
      if (drawn == HeldTokens::Drawn::Taken) {
        text.push_back(held.back().token);
      } else {
        EXPECT_LE(held.end(), text.size());
        text.resize(held.end());
      }
      most_held_ = std::max(most_held_, held.size());
      for (; held.num_released() > 0; held.pop_front(), --room) {
        pieces_.push_back(held.front().text);
        finish_ = held.front().finish;
        shown += finish_ == Finish::Banned ? answer_.with_held(pieces_.back()) : pieces_.back();
      }
      if (drawn == HeldTokens::Drawn::Exhausted && finish_ == Finish::None) {
        finish_ = Finish::Banned;
        shown += answer_.take_held();
      }
    }
    EXPECT_EQ(held.size(), 0u);
    return shown;
  }

  const std::shared_ptr<const Model> model_ = load_tiny();
  std::vector<Token> prompt_ = {1, byte('P')};
  Sampler sampler_ = greedy_sampler();
  AnswerText answer_{*model_->tokenizer()};
  Finish finish_ = Finish::None;
  std::vector<std::string> pieces_;
  size_t most_held_ = 0;
  size_t num_steps_ = 0;
};

TEST_F(BannedTextsInAnswers, AtTheFirstTokenTakeAnother) {
  EXPECT_EQ(answer(wishes({"fox", "cat"}), banning({"f"})), "cat");
  EXPECT_EQ(num_steps_, 4u) << "the logits of a token excluded at once serve the next";
  EXPECT_EQ(answer(wishes({"fox", "cat"}), banning({"fox"})), "cat");
  EXPECT_EQ(pieces_, (std::vector<std::string>{"c", "a", "t", ""}));
  EXPECT_EQ(finish_, Finish::End);
}

TEST_F(BannedTextsInAnswers, GoBackToTheTokenInWhichTheyBegin) {
  EXPECT_EQ(answer(wishes({"a hello world", "a help", "a yell"}), banning({"hello"})), "a yell");
  EXPECT_EQ(most_held_, 4u);
  EXPECT_EQ(answer(wishes({"a help"}), banning({"hello"})), "a help") << "what only began so goes";
}

TEST_F(BannedTextsInAnswers, Overlap) {
  EXPECT_EQ(answer(wishes({"abcd", "abce", "ad", "zz"}), banning({"bcd", "ce"})), "ad");
  EXPECT_EQ(answer(wishes({"abcd", "abde"}), banning({"abc", "c"})), "abde")
      << "the shorter counts";
  EXPECT_EQ(answer(wishes({"aab", "aac"}), banning({"aaa", "ab"})), "a")
      << "the second a is excluded, and with it both";
  EXPECT_EQ(answer(wishes({"xaay", "xaaz", "xb"}), banning({"aay", "aaz"})), "xb");
}

TEST_F(BannedTextsInAnswers, WithinCharacters) {
  EXPECT_EQ(answer(wishes({"caf\xc3\xa9", "cafe"}), banning({"\xc3\xa9"})), "cafe");
  EXPECT_EQ(answer(wishes({"caf\xc3\xa9", "caf\xc3\xa8"}), banning({"\xc3\xa9"})), "caf")
      << "the token that begins the character is excluded";
  EXPECT_EQ(answer(wishes({"\xc3\xa9x", "\xc3\xa9y", "z"}), banning({"x"})), "\xc3\xa9y");
  EXPECT_EQ(answer(wishes({"a\xe2\x82", "ab"}), banning({"\xef\xbf\xbd"})), "ab")
      << "half a character is shown as U+FFFD";
}

TEST_F(BannedTextsInAnswers, DoNotCountInThePrompt) {
  prompt_ = {1, byte('f'), byte('o')};
  EXPECT_EQ(answer(wishes({"x fox", "x cat"}), banning({"fox"})), "x cat");
}

TEST_F(BannedTextsInAnswers, InCapitalAndSmallLetters) {
  EXPECT_EQ(answer(wishes({"FoX", "cat"}), banning({"fOx"})), "FoX");
  EXPECT_EQ(answer(wishes({"FoX", "cat"}), banning({"fOx"}, true)), "cat");
}

TEST_F(BannedTextsInAnswers, ComeBeforeStops) {
  EndRules rules = banning({"END"});
  rules.stops = std::make_shared<const StopStrings>(std::vector<std::string>{"END"});
  EXPECT_EQ(answer(wishes({"xEND", "xy"}), rules), "xy");
  EXPECT_EQ(finish_, Finish::End);
  rules.stops = std::make_shared<const StopStrings>(std::vector<std::string>{"EN"});
  EXPECT_EQ(answer(wishes({"xEND", "xy"}), rules), "x") << "what has ended holds no END";
  EXPECT_EQ(finish_, Finish::Stop);
  rules = banning({"a b"});
  rules.stops = std::make_shared<const StopStrings>(std::vector<std::string>{" STOP"});
  EXPECT_EQ(answer(wishes({"a b", "a STOP", "c"}), rules), "c");
  rules.stop_tokens = {byte('b')};
  EXPECT_EQ(answer(wishes({"a b"}), rules), "a ") << "a stop token shows no text";
  EXPECT_EQ(finish_, Finish::Stop);
}

TEST_F(BannedTextsInAnswers, LeaveLeastLengthsAlone) {
  EndRules rules = banning({"b"});
  rules.min_tokens = 3;
  EXPECT_EQ(answer(wishes({"a", "ab", "ac", "acd"}), rules), "acd");
}

TEST_F(BannedTextsInAnswers, EndTheAnswerWhenAllIsBanned) {
  const Wishes only_a_and_b = [](std::span<const Token>) {
    std::vector<float> logits(kVocab, kNever);
    logits[static_cast<size_t>(byte('a'))] = 2;
    logits[static_cast<size_t>(byte('b'))] = 1;
    return logits;
  };
  EXPECT_EQ(answer(only_a_and_b, banning({"a", "b"})), "");
  EXPECT_EQ(finish_, Finish::Banned);
  EXPECT_TRUE(pieces_.empty());
  EXPECT_EQ(answer(only_a_and_b, banning({"aa", "b"})), "");
  EXPECT_EQ(answer(only_a_and_b, banning({"aa", "bb", "ab"})), "b") << "a begins what is banned";
  EXPECT_EQ(finish_, Finish::Banned);
  EndRules rules = banning({"aa", "bb", "ab"});
  rules.stops = std::make_shared<const StopStrings>(std::vector<std::string>{"bx"});
  EXPECT_EQ(answer(only_a_and_b, rules), "b") << "what was held for a stop comes, too";
}

TEST_F(BannedTextsInAnswers, AreNotTriedForEver) {
  std::vector<std::string> all_but_u = {"\xef\xbf\xbd"};
  for (char c = 0; c >= 0 && c < 127; ++c) {
    if (c != 'u') all_but_u.push_back({c});
  }
  all_but_u.push_back("\x7f");
  const auto even = [](Token first) {
    return [first](std::span<const Token> answer) {
      std::vector<float> logits(kVocab, kNever);
      std::fill(logits.begin() + first, logits.end(), 0.0f);
      logits[static_cast<size_t>(byte('u'))] = kNever;
      if (!answer.empty()) logits[kEnd] = 1;
      return logits;
    };
  };
  // "u" is the last possible token.
  EXPECT_EQ(answer(even(100), banning(all_but_u)), "u");
  EXPECT_EQ(finish_, Finish::End);
  EXPECT_EQ(answer(even(3), banning(all_but_u)), "") << "it would have been number 296";
  EXPECT_EQ(finish_, Finish::Banned);
}

TEST_F(BannedTextsInAnswers, ThatBeganInATokenWhichHasGoneExcludeTheNext) {
  // After "fa" no f can begin a banned text; but the a is removed, and then the o is banned, too.
  EXPECT_EQ(answer(wishes({"fab", "fox", "fig"}), banning({"ab", "fox"})), "fig");
  EXPECT_EQ(answer(wishes({"fab", "fo", "cat"}), banning({"ab", "fo"})), "f");
}

TEST_F(BannedTextsInAnswers, AreLookedForNoFurtherThanThereIsRoom) {
  EXPECT_EQ(answer(wishes({"fox", "cat"}), banning({"fox"}), 2), "fo");
  EXPECT_EQ(answer(wishes({"fox", "cat"}), banning({"fox"}), 3), "cat");
}

TEST_F(BannedTextsInAnswers, DoNotHoldTokensWithoutTextForEver) {
  const Wishes controls = [](std::span<const Token> answer) {
    std::vector<float> logits(kVocab, 0.0f);
    logits[kEnd] = 1;
    const bool late = answer.size() > HeldTokens::kMaxTokens + 10;
    logits[static_cast<size_t>(answer.empty() ? byte('f') : late ? byte('x') : 1)] = 5;
    return logits;
  };
  EXPECT_EQ(answer(controls, banning({"fx"})), "f");
  EXPECT_EQ(finish_, Finish::End);
  EXPECT_LE(most_held_, HeldTokens::kMaxTokens);
}

TEST_F(BannedTextsInAnswers, LeaveSamplersAsIfNothingHadBeen) {
  const Wishes both = wishes({"fox", "cat"}, kNever);
  for (const char* steered : {"mirostat", "adaptive_p"}) {
    sampler_.reset();
    sampler_.set("temperature", 0.5);
    if (std::string_view(steered) == "mirostat") {
      sampler_.set("mirostat", int64_t{2});
    } else {
      sampler_.set("adaptive_target", 0.3);
    }
    sampler_.set("seed", int64_t{4});
    EXPECT_EQ(answer(both, banning({"f"})), "cat") << steered;
    const SamplerMemory excluded_at_once = sampler_.memory();
    sampler_.forget();
    EXPECT_EQ(answer(both, banning({"fox"})), "cat") << steered;
    EXPECT_EQ(sampler_.memory().mirostat_surprise, excluded_at_once.mirostat_surprise);
    EXPECT_EQ(sampler_.memory().adaptive_sum, excluded_at_once.adaptive_sum);
    EXPECT_EQ(sampler_.memory().adaptive_weight, excluded_at_once.adaptive_weight);
    EXPECT_TRUE(sampler_.memory().mirostat_surprise || sampler_.memory().adaptive_weight > 0);
  }
}

TEST_F(BannedTextsInAnswers, TakeGrammarsBackWithThem) {
  grammar::MaskCache masks(model_->tokenizer());
  const auto choices = [&](const std::vector<std::string>& texts) {
    sampler_.set_grammar(std::make_unique<GrammarMatcher>(masks.of(Grammar::of_choices(texts))));
  };
  choices({"fox", "fog", "cat", "cow"});
  EXPECT_EQ(answer(wishes({"fox", "fog", "cat"}), banning({"fox", "at"})), "cow");
  EXPECT_EQ(finish_, Finish::End);
  EXPECT_TRUE(sampler_.grammar()->is_ended());
  choices({"a fox"});
  EXPECT_EQ(answer(wishes({"a fox"}), banning({"fox"})), "a ");
  EXPECT_EQ(finish_, Finish::Banned) << "the grammar allows nothing else";
}

}  // namespace
}  // namespace tenon
