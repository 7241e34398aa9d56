// tenon_grammar_*, tenon_grammar_cache_*, tenon_matcher_*: loops that draw by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <tenon/tenon.hpp>
#include <vector>

namespace {

tenon::Code code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const tenon::Error& error) {
    return error.code();
  }
  return tenon::Code::Ok;
}

const tenon::Model& model() {
  static const tenon::Model loaded(TENON_DEMO_MODEL, {.vocabulary_only = true});
  return loaded;
}

bool has(const std::vector<uint64_t>& mask, tenon::Token token) {
  return (mask[static_cast<size_t>(token) / 64] >> (token % 64) & 1) != 0;
}

TEST(CMatcher, MaskAndAllowsAgree) {
  tenon::Matcher matcher(tenon::Grammar::choices(R"(["yes","yet","no"])"), model().tokenizer());
  const size_t vocabulary = model().tokenizer().size();
  const std::vector<uint64_t> mask = matcher.mask();
  EXPECT_EQ(mask.size(), (vocabulary + 63) / 64);
  size_t count = 0;
  for (size_t t = 0; t < vocabulary; ++t) {
    const auto token = static_cast<tenon::Token>(t);
    EXPECT_EQ(has(mask, token), matcher.allows(token)) << t;
    count += has(mask, token) ? 1 : 0;
  }
  EXPECT_GT(count, 1u);
  EXPECT_FALSE(matcher.allows(-1));
  EXPECT_FALSE(matcher.allows(static_cast<tenon::Token>(vocabulary)));
  std::vector<uint64_t> small(1);
  EXPECT_EQ(code_of([&] { matcher.mask(small); }), tenon::Code::Argument);
}

TEST(CMatcher, TakesTextAndTokensAndTakesThemBack) {
  tenon::Matcher matcher(tenon::Grammar::json_schema(R"({"type":"object","properties":{"ab":{}},
      "required":["ab"],"additionalProperties":false})"),
                         model().tokenizer());
  EXPECT_EQ(matcher.forced_text(), "{");
  EXPECT_TRUE(matcher.accept("{\""));
  EXPECT_FALSE(matcher.accept("x"));
  EXPECT_TRUE(matcher.accept("ab"));
  tenon::Matcher other = matcher.fork();
  EXPECT_TRUE(matcher.accept("\":"));
  matcher.accept(model().tokenizer().encode("1").front());
  EXPECT_FALSE(matcher.is_complete());
  EXPECT_TRUE(matcher.accept("}"));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_TRUE(matcher.is_ended());
  EXPECT_FALSE(matcher.accept("}"));
  matcher.roll_back(2);
  EXPECT_TRUE(matcher.accept("null"));
  EXPECT_FALSE(other.is_complete());
  EXPECT_TRUE(other.accept("\": [1]}"));
  EXPECT_TRUE(other.is_complete());
  EXPECT_EQ(code_of([&] { other.roll_back(100); }), tenon::Code::Argument);
  EXPECT_EQ(code_of([&] { other.accept(model().tokenizer().encode("}").front()); }),
            tenon::Code::State);
  other.reset();
  EXPECT_FALSE(other.is_complete());
}

TEST(CMatcher, KeepsToTheTokenLimit) {
  tenon::Matcher matcher(tenon::Grammar::regular_expression("[a-z]{2,40}"), model().tokenizer());
  matcher.set_token_limit(12);
  size_t drawn = 0;
  while (!matcher.is_ended()) {
    const std::vector<uint64_t> mask = matcher.mask();
    tenon::Token last = TENON_NO_TOKEN;
    for (size_t t = 0; t < model().tokenizer().size(); ++t) {
      if (has(mask, static_cast<tenon::Token>(t))) last = static_cast<tenon::Token>(t);
    }
    ASSERT_NE(last, TENON_NO_TOKEN);
    matcher.accept(last);
    ASSERT_LE(++drawn, 12u);
    if (matcher.is_complete()) break;
  }
  EXPECT_TRUE(matcher.is_complete());
}

TEST(CGrammarCache, GivesTheSameAndOutlivesItself) {
  std::optional<tenon::GrammarCache> cache(std::in_place, 1 << 20);
  const tenon::Grammar first = cache->regular_expression("a+");
  const tenon::Grammar second = cache->regular_expression("a+");
  EXPECT_EQ(code_of([&] { (void)cache->json_schema(R"({"type":"zzz"})"); }), tenon::Code::Grammar);
  EXPECT_TRUE(cache->choices(R"(["a"])").accepts("a"));
  EXPECT_TRUE(cache->gbnf("root ::= \"b\"").accepts("b"));
  cache.reset();
  EXPECT_TRUE(first.accepts("aa"));
  EXPECT_TRUE(second.accepts("a"));
}

TEST(CMatcher, RefusesWhatIsNoHandle) {
  tenon_matcher* matcher = nullptr;
  EXPECT_EQ(tenon_matcher_create(nullptr, model().tokenizer().get(), &matcher),
            TENON_ERROR_ARGUMENT);
  const tenon::Grammar grammar = tenon::Grammar::regular_expression("a");
  EXPECT_EQ(tenon_matcher_create(grammar.get(), nullptr, &matcher), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(matcher, nullptr);
  int32_t out = 7;
  size_t size = 7;
  EXPECT_EQ(tenon_matcher_allows(nullptr, 0, &out), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_mask(nullptr, nullptr, 0, &size), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_accept_token(nullptr, 0), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_accept_text(nullptr, "", 0, &out), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_roll_back(nullptr, 0), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_state(nullptr, &out, &out), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_forced_text(nullptr, nullptr, 0, &size), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_fork(nullptr, &matcher), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_reset(nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(tenon_matcher_set_token_limit(nullptr, 1), TENON_ERROR_ARGUMENT);
  tenon_matcher_destroy(nullptr);
  EXPECT_EQ(out, 7);
  EXPECT_EQ(size, 7u);
}

TEST(Logprobs, OfChosenAndOfTheLikeliest) {
  const std::vector<float> logits{0, 2, 1, 2};
  const std::vector<tenon::Token> chosen{2, 1};
  const auto some = tenon::logprobs(logits, chosen);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].token, 2);
  EXPECT_NEAR(some[1].logprob - some[0].logprob, 1, 1e-6);
  const auto top = tenon::top_logprobs(logits, 3);
  EXPECT_EQ(top[0].token, 1);  // of equals the lower id
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_EQ(code_of([&] { (void)tenon::top_logprobs(logits, 5); }), tenon::Code::Argument);
}

}  // namespace
