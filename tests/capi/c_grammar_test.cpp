// tenon_grammar_*, tenon_grammar_cache_*, tenon_matcher_*: custom sampling loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "code_of.h"

namespace {

using tenon_test::code_of;

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

TEST(ForcedText, ComesWithoutDrawsAndAsTheTokenizerSpellsIt) {
  const tenon::Model demo(TENON_DEMO_MODEL);
  const std::string text = "The capital of Norway is called Oslo";
  const tenon::Grammar grammar = tenon::Grammar::choices("[\"" + text + "\"]");
  const auto session_of = [&] {
    tenon::Session session(demo);
    session.append("Once");
    return session;
  };
  tenon::Sampler sampler(tenon::SamplerOptions{.temperature = 0});
  sampler.set_grammar(grammar, demo.tokenizer());
  tenon::Session session = session_of();
  std::string seen;
  uint64_t pieces = 0;
  for (const auto& piece : session.generate(sampler, 100)) {
    seen += piece.text;
    ++pieces;
  }
  EXPECT_EQ(seen, text);
  const std::vector<tenon::Token> spelled = demo.tokenizer().encode(text);
  EXPECT_EQ(pieces, spelled.size() + 1);
  const auto tokens = session.tokens();
  EXPECT_TRUE(std::equal(spelled.begin(), spelled.end(),
                         tokens.end() - static_cast<std::ptrdiff_t>(pieces)));
  // All tokens but the end were known in advance, and computed in one slice.
  EXPECT_LE(session.stats().decode_tokens, 1u);

  // A request answers equally; a forbidden token is spelled with others.
  tenon::Session other = session_of();
  sampler.reset();
  tenon::Request request = tenon::submit(other, {.sampler = &sampler, .max_tokens = 100});
  std::string of_request;
  while (const auto piece = request.next()) of_request += piece->text;
  EXPECT_EQ(of_request, text);
  sampler.reset();
  sampler.set_bias(spelled[1], -std::numeric_limits<double>::infinity());
  tenon::Session third = session_of();
  std::string without;
  for (const auto& piece : third.generate(sampler, 100)) {
    EXPECT_NE(piece.token, spelled[1]);
    without += piece.text;
  }
  EXPECT_EQ(without, text);
}

TEST(ForcedText, LeavesRoomForTheEnd) {
  const tenon::Model demo(TENON_DEMO_MODEL);
  tenon::Sampler sampler(tenon::SamplerOptions{.temperature = 0});
  sampler.set_grammar(tenon::Grammar::json_schema(R"({"type":"object","properties":{
      "temperature_in_celsius":{"type":"integer"},"description_of_the_sky":{"type":"string"}},
      "required":["temperature_in_celsius","description_of_the_sky"],
      "additionalProperties":false})"),
                      demo.tokenizer());
  for (const uint64_t limit : {40u, 70u}) {
    tenon::Session session(demo);
    session.append("Once");
    sampler.reset();
    std::string text;
    for (const auto& piece : session.generate(sampler, limit)) text += piece.text;
    EXPECT_EQ(text.back(), '}') << text;
  }
}

TEST(Logprobs, OfChosenAndOfTheLikeliest) {
  const std::vector<float> logits{0, 2, 1, 2};
  const std::vector<tenon::Token> chosen{2, 1};
  const auto some = tenon::logprobs(logits, chosen);
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].token, 2);
  EXPECT_NEAR(some[1].logprob - some[0].logprob, 1, 1e-6);
  const auto top = tenon::top_logprobs(logits, 3);
  EXPECT_EQ(top[0].token, 1);  // the lower id of equals
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 2);
  EXPECT_EQ(code_of([&] { (void)tenon::top_logprobs(logits, 5); }), tenon::Code::Argument);
}

TEST(BestOf, KeepsTheLikeliest) {
  const tenon::Model demo(TENON_DEMO_MODEL);
  tenon::Session session(demo);
  session.append(
      "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n",
      {.parse_special = true});
  const uint64_t prompt = session.position();
  tenon::Sampler sampler(
      tenon::SamplerOptions{.temperature = 30, .top_k = 0, .top_p = 1.0, .min_p = 0.0, .seed = 3});
  const tenon::Session::BestOf some = session.best_of(sampler, 4, 12);
  ASSERT_EQ(some.candidates.size(), 4u);
  double best = -1e9;
  for (const auto& one : some.candidates) {
    EXPECT_LT(one.logprob, 0);
    EXPECT_LE(one.tokens.size(), 12u);
    best = std::max(best, one.logprob / static_cast<double>(one.tokens.size()));
  }
  const auto& chosen = some.candidates[some.best];
  EXPECT_EQ(chosen.logprob / static_cast<double>(chosen.tokens.size()), best);
  EXPECT_NE(some.candidates[0].tokens, some.candidates[1].tokens);
  const auto tokens = session.tokens();
  EXPECT_TRUE(std::equal(chosen.tokens.begin(), chosen.tokens.end(),
                         tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end()));
  // The sums equal those over the logits before each token.
  session.rewind(prompt);
  const auto again = session.append_with_logprobs(chosen.tokens);
  double sum = 0;
  for (const auto& one : again) sum += one.logprob;
  EXPECT_NEAR(sum, chosen.logprob, 1e-3);
  // A candidate is generated as if it were alone.
  session.rewind(prompt);
  tenon::Sampler alone(
      tenon::SamplerOptions{.temperature = 30, .top_k = 0, .top_p = 1.0, .min_p = 0.0, .seed = 4});
  std::vector<tenon::Token> drawn;
  for (const auto& piece : session.generate(alone, 12)) drawn.push_back(piece.token);
  EXPECT_EQ(drawn, some.candidates[1].tokens);
  EXPECT_EQ(code_of([&] { (void)session.best_of(sampler, 0); }), tenon::Code::Limit);
  EXPECT_EQ(code_of([&] { (void)session.best_of(sampler, 129); }), tenon::Code::Limit);
}

TEST(PromptLogprobs, OfAText) {
  const tenon::Model demo(TENON_DEMO_MODEL);
  tenon::Session session(demo);
  const std::vector<tenon::Token> tokens = demo.tokenizer().encode("The capital of Norway is Oslo");
  const auto all = session.append_with_logprobs(tokens);
  ASSERT_EQ(all.size(), tokens.size());
  EXPECT_EQ(all[0].logprob, 0);
  tenon::Session other(demo);
  other.append(std::span(tokens).first(tokens.size() - 1));
  EXPECT_EQ(tenon::logprobs(other.logits(), std::span(tokens).last(1)).front().logprob,
            all.back().logprob);
  const auto last = other.append_with_logprobs(std::span(tokens).last(1));
  EXPECT_EQ(last.front().logprob, all.back().logprob);
}

/// Pattern that compiles in many milliseconds.
const std::string kSlowPattern = "^(a|b)*(c|d).{0,14}x[^y]{3,8}$";

TEST(CGrammar, CompilingAsksWhetherToStop) {
  size_t asked = 0;
  const tenon::Tokenizer tokenizer = model().tokenizer();
  const tenon::Grammar whole = tenon::Grammar::compile(
      TENON_GRAMMAR_REGEX, kSlowPattern,
      {.tokenizer = &tokenizer, .should_stop = [&] { return ++asked == 0; }});
  EXPECT_GT(asked, 4u);
  EXPECT_TRUE(whole.accepts("acxzzz"));
  EXPECT_EQ(whole.notes(), "[]");
  for (size_t last = 1; last < asked; last += 3) {
    size_t so_far = 0;
    EXPECT_EQ(code_of([&] {
                (void)tenon::Grammar::compile(TENON_GRAMMAR_REGEX, kSlowPattern,
                                              {.should_stop = [&] { return ++so_far == last; }});
              }),
              tenon::Code::Cancelled);
    EXPECT_EQ(so_far, last);
  }
  EXPECT_THROW((void)tenon::Grammar::compile(
                   TENON_GRAMMAR_REGEX, kSlowPattern,
                   {.should_stop = []() -> bool { throw std::length_error("mine"); }}),
               std::length_error);
}

TEST(CGrammar, CompilingChecksItsArguments) {
  tenon_grammar* grammar = nullptr;
  const auto compile = [&](int32_t kind, const char* text, uint32_t flags,
                           tenon_stop_callback should_stop) {
    return tenon_grammar_compile(kind, text, TENON_NUL_TERMINATED, flags, nullptr, should_stop,
                                 nullptr, &grammar);
  };
  EXPECT_EQ(compile(TENON_GRAMMAR_REGEX, "a", 2, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(compile(TENON_GRAMMAR_REGEX, "a", TENON_GRAMMAR_LENIENT, nullptr),
            TENON_ERROR_ARGUMENT);
  EXPECT_EQ(compile(9, "a", 0, nullptr), TENON_ERROR_ARGUMENT);
  EXPECT_EQ(compile(TENON_GRAMMAR_REGEX, "(", 0, nullptr), TENON_ERROR_GRAMMAR);
  EXPECT_EQ(
      compile(TENON_GRAMMAR_REGEX, kSlowPattern.c_str(), 0, [](void*) -> int32_t { throw 1; }),
      TENON_ERROR_ARGUMENT);
  EXPECT_EQ(grammar, nullptr);
  EXPECT_EQ(tenon_grammar_notes(nullptr, nullptr, nullptr), TENON_ERROR_ARGUMENT);
  ASSERT_EQ(compile(TENON_GRAMMAR_REGEX, "a", 0, nullptr), TENON_OK);
  tenon_grammar_destroy(grammar);
}

TEST(CGrammar, ALenientSchemaTellsWhatItLeavesOut) {
  const tenon::Grammar grammar = tenon::Grammar::compile(
      TENON_GRAMMAR_JSON_SCHEMA,
      R"({"type": "object", "properties": {"a\"": {"type": "string", "pattern": "(?<=x)y"}}})",
      {.lenient = true});
  EXPECT_TRUE(grammar.accepts(R"({"a\"": "z"})"));
  EXPECT_FALSE(grammar.accepts(R"({"a\"": 1})"));
  EXPECT_THAT(std::string(grammar.notes()),
              testing::StartsWith(R"([{"pointer": "/properties/a\"", "keyword": "pattern", )"
                                  R"("reason": "pattern, byte )"));
  // A part of a constant is no keyword.
  const tenon::Grammar constant = tenon::Grammar::compile(
      TENON_GRAMMAR_JSON_SCHEMA, R"({"const": {"a": 1e-2001}})", {.lenient = true});
  EXPECT_TRUE(constant.accepts(R"({"a": 1})"));
  EXPECT_EQ(std::string(constant.notes()).find(R"("keyword": "a")"), std::string::npos);
  const tenon::Grammar old = tenon::Grammar::compile(
      TENON_GRAMMAR_JSON_SCHEMA,
      R"({"type": "object", "properties": {"a": {"type": "string"}}, "required": true})",
      {.lenient = true});
  EXPECT_TRUE(old.accepts("{}"));
  EXPECT_FALSE(old.accepts(R"({"a": 1})"));
  EXPECT_THAT(std::string(old.notes()),
              testing::StartsWith(R"([{"pointer": "", "keyword": "required", )"));
  const tenon::Grammar whole = tenon::Grammar::compile(
      TENON_GRAMMAR_JSON_SCHEMA, R"({"type": "string", "const": 1})", {.lenient = true});
  EXPECT_TRUE(whole.accepts("[]"));
  EXPECT_THAT(std::string(whole.notes()),
              testing::StartsWith(R"([{"pointer": "", "keyword": null, "reason": ")"));
}

}  // namespace
