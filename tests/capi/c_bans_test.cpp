// The option banned_strings in every interface: calls, callbacks, ranges, requests.
#include <gtest/gtest.h>

#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "code_of.h"

namespace {

using tenon_test::code_of;

constexpr const char* kPrompt = "Once upon a time";

class CBans : public testing::Test {
 protected:
  static tenon::SamplerOptions options(std::vector<std::string> banned, bool ignore_case = false) {
    tenon::SamplerOptions options{.temperature = 0.0};
    options.banned_strings = std::move(banned);
    if (ignore_case) options.banned_ignore_case = true;
    return options;
  }
  tenon::Session prompted() const {
    tenon::Session session(model_);
    session.append(kPrompt, {.add_special = true});
    return session;
  }
  std::string generated(const tenon::SamplerOptions& how, uint64_t count) const {
    tenon::Session session = prompted();
    tenon::Sampler sampler(how);
    std::string text;
    for (const tenon::Piece& piece : session.generate(sampler, count)) text += piece.text;
    return text;
  }

  const tenon::Model model_{TENON_DEMO_MODEL, {.threads = 1}};
};

TEST_F(CBans, AreRefusedWhenTheyMakeNoSense) {
  EXPECT_EQ(code_of([] { tenon::Sampler{options({""})}; }), tenon::Code::Argument);
  EXPECT_EQ(code_of([] { tenon::Sampler{options({"\xff"})}; }), tenon::Code::Argument);
  EXPECT_EQ(code_of([] { tenon::Sampler{options({std::string(129, 'x')})}; }), tenon::Code::Limit);
  EXPECT_EQ(code_of([] { tenon::Sampler{options(std::vector<std::string>(1001, "x"))}; }),
            tenon::Code::Limit);
}

TEST_F(CBans, GiveOneAnswerThroughEveryFace) {
  const std::string plain = generated(options({}), 24);
  ASSERT_GT(plain.size(), 16u);
  const auto how = options({plain.substr(3, 2), plain.substr(9, 4)});
  const std::string expected = generated(how, 24);
  EXPECT_NE(expected, plain);
  for (const std::string& text : how.banned_strings) {
    EXPECT_EQ(expected.find(text), std::string::npos) << expected;
  }
  const tenon::Sampler sampler(how);

  std::string called;
  const auto record = [](void* user, const tenon_piece* piece) -> int32_t {
    static_cast<std::string*>(user)->append(piece->text, piece->length);
    return 0;
  };
  EXPECT_EQ(tenon_session_generate(prompted().get(), sampler.get(), 24, record, &called), TENON_OK);
  EXPECT_EQ(called, expected);

  tenon::Session session = prompted();
  tenon::Request request = tenon::submit(session, {.sampler = &sampler, .max_tokens = 24});
  std::string requested;
  while (const auto piece = request.next()) requested += piece->text;
  EXPECT_EQ(requested, expected);

  tenon::Session best = prompted();
  tenon::Sampler again(how);
  const auto answers = best.best_of(again, 2, 24);
  EXPECT_EQ(answers.candidates[0].text, expected);
  EXPECT_LT(answers.candidates[0].logprob, 0);
}

TEST_F(CBans, InEitherCase) {
  const std::string plain = generated(options({}), 24);
  std::string shouted = plain.substr(3, 4);
  for (char& c : shouted) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(generated(options({shouted}), 24), plain);
  EXPECT_NE(generated(options({shouted}, true), 24), plain);
}

TEST_F(CBans, OfEverythingEndTheAnswer) {
  std::vector<std::string> all;
  for (char c = ' '; c < 127; ++c) all.emplace_back(1, c);
  tenon::Session session = prompted();
  tenon::Sampler sampler(options(all));
  for (tenon::Token token = 0; static_cast<size_t>(token) < model_.tokenizer().size(); ++token) {
    // Leave only banned texts possible.
    const std::string text = model_.tokenizer().decode(std::span(&token, 1));
    const bool ascii = !text.empty() && text[0] >= ' ' && text[0] < 127;
    if (!ascii || token % 8 != 0) sampler.set_bias(token, -std::numeric_limits<double>::infinity());
  }
  std::vector<tenon::Piece> pieces;
  for (const tenon::Piece& piece : session.generate(sampler, 24)) pieces.push_back(piece);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].finish, TENON_FINISH_BANNED);
  EXPECT_EQ(pieces[0].token, TENON_NO_TOKEN);

  const uint64_t before = session.position();
  tenon::Request request = tenon::submit(session, {.sampler = &sampler});
  const tenon::Piece last = request.wait(-1);
  EXPECT_EQ(last.finish, TENON_FINISH_BANNED);
  EXPECT_EQ(last.token, TENON_NO_TOKEN);
  EXPECT_EQ(session.position(), before);
}

TEST_F(CBans, LoopsOfTheHostTakeDrawsBack) {
  tenon::Session session = prompted();
  tenon::Sampler sampler(tenon::SamplerOptions{.seed = 5, .extra = {{"mirostat", "2"}}});
  const auto draw = [&] {
    const tenon::Token token =
        sampler.sample(session.logits(), session.tokens(), session.position());
    session.append(std::span(&token, 1));
    return token;
  };
  std::vector<tenon::Token> first;
  for (int i = 0; i < 6; ++i) first.push_back(draw());
  sampler.roll_back(4);
  session.rewind(session.position() - 4);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(draw(), first[i]) << i;
  EXPECT_EQ(code_of([&] { sampler.roll_back(7); }), tenon::Code::Argument);
  EXPECT_EQ(tenon_sampler_roll_back(nullptr, 1), TENON_ERROR_ARGUMENT);
}

}  // namespace
