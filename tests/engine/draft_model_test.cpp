// A draft model changes no answer: with useless, perfect and other ones, alone and in batches,
// tokens, texts, log-probabilities and ends have the bits of an engine without one.
#include "engine/draft_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/base/faulty_system.h"
#include "tests/engine/answers.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

constexpr uint64_t kDrafted = 40;

std::shared_ptr<const Model> load_one(TinyModel tiny, std::shared_ptr<System> system = {}) {
  ModelOptions options;
  options.slice = 64;
  options.threads = 1;
  if (system != nullptr) options.system = std::move(system);
  return load_tiny(tiny, std::move(options));
}

TinyModel tiny_with_seed(uint32_t seed) {
  TinyModel tiny;
  tiny.seed = seed;
  tiny.layers = 1;
  return tiny;
}

struct DraftSubject {
  const char* name;
  TinyModel (*model)();
  TinyModel (*draft)();
};
void PrintTo(const DraftSubject& subject, std::ostream* out) { *out << subject.name; }

TinyModel draft_itself() { return {}; }
TinyModel useless_draft() { return tiny_with_seed(77); }
TinyModel draft_window() { return tiny_window(); }
TinyModel with_more_tokens() {
  TinyModel tiny = tiny_with_seed(5);
  tiny.vocab = 320;
  return tiny;
}
TinyModel with_fewer_tokens() {
  TinyModel tiny = tiny_with_seed(6);
  tiny.vocab = 280;
  return tiny;
}

const DraftSubject kDraftSubjects[] = {
    {"perfect", draft_itself, draft_itself},
    {"useless", draft_itself, useless_draft},
    {"windowByItself", draft_window, draft_window},
    {"windowByFull", draft_window, useless_draft},
    {"fullByWindow", draft_itself, draft_window},
    {"moreTokens", draft_itself, with_more_tokens},
    {"fewerTokens", draft_itself, with_fewer_tokens},
};

EngineOptions draft_options(Speculation speculation) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  options.speculation = speculation;
  return options;
}

struct DraftedAnswer {
  WholeAnswer answer;
  std::vector<Token> text;
  bool operator==(const DraftedAnswer&) const = default;
};

/// Answers of one engine to all ways at once.
std::vector<DraftedAnswer> answers_of(const std::shared_ptr<Engine>& engine, uint32_t seed = 0) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  uint32_t number = 0;
  for (const Way& way : ways()) {
    auto& session = *sessions.emplace_back(std::make_unique<Session>(engine, SessionOptions{256}));
    session.append(make_tokens(28 + 5 * number, 1 + seed + number % 3, 250));
    Sampler sampler;
    sampler.set("seed", int64_t{seed + number});
    GenerationOptions options = limits(kDrafted + number);
    way.set(sampler, options, engine->model());
    options.logprobs.of_drawn = options.logprobs.of_drawn || number % 2 == 0;
    ++number;
    generations.push_back(session.submit(sampler, options));
  }
  std::vector<DraftedAnswer> all;
  for (size_t i = 0; i < sessions.size(); ++i) {
    DraftedAnswer one{whole_answer(*engine, *generations[i]), {}};
    one.text.assign(sessions[i]->tokens().begin(), sessions[i]->tokens().end());
    all.push_back(std::move(one));
  }
  return all;
}

class Drafts : public testing::TestWithParam<DraftSubject> {};

TEST_P(Drafts, ChangeNoAnswerOfRequests) {
  const auto model = load_one(GetParam().model());
  const auto draft = load_one(GetParam().draft());
  const auto off = Engine::create(model, draft_options(Speculation::Off));
  const auto forced = Engine::create(model, draft_options(Speculation::Forced), draft);
  const auto priced = Engine::create(model, draft_options(Speculation::Auto), draft);
  for (uint32_t seed = 0; seed < 4; ++seed) {
    const std::vector<DraftedAnswer> expected = answers_of(off, seed);
    const std::vector<DraftedAnswer> with_forced = answers_of(forced, seed);
    const std::vector<DraftedAnswer> with_priced = answers_of(priced, seed);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(with_forced[i], expected[i]) << ways()[i].name << ", seed " << seed;
      EXPECT_EQ(with_priced[i], expected[i]) << ways()[i].name << ", seed " << seed;
    }
  }
  const EngineMetrics metrics = forced->metrics();
  EXPECT_GT(metrics.draft_model_guesses_total, 100U);
  const bool is_perfect = std::string_view(GetParam().name) == "perfect" ||
                          std::string_view(GetParam().name) == "windowByItself";
  const uint64_t accepted = metrics.accepted_by[static_cast<size_t>(DraftSource::Model)];
  if (is_perfect) {
    EXPECT_GT(accepted, metrics.generated_tokens_total / 2) << forced->describe_drafters();
  } else {
    EXPECT_LT(accepted, metrics.generated_tokens_total / 3) << forced->describe_drafters();
  }
}

TEST_P(Drafts, ChangeNoAnswerOfSessions) {
  const auto model = load_one(GetParam().model());
  const auto draft = load_one(GetParam().draft());
  for (const Way& way : ways()) {
    const auto talk = [&](const std::shared_ptr<Engine>& engine) {
      Session session(engine, SessionOptions{256});
      session.append(make_tokens(30, 2, 250));
      std::vector<Token> tokens;
      std::vector<float> logits;
      for (const uint64_t part : {17U, 9U}) {
        Sampler sampler;
        sampler.set("seed", static_cast<int64_t>(part));
        GenerationOptions options = limits(part);
        way.set(sampler, options, engine->model());
        EndRules rules = options.ends;
        rules.tokens_left = part;
        for (uint64_t i = 0; i < part; ++i) {
          const Session::Piece piece = session.next_piece(sampler, rules);
          tokens.push_back(piece.token);
          if (i % 3 == 0 && session.has_drawn_logits()) {
            const std::span<const float> row = session.drawn_logits();
            logits.insert(logits.end(), row.begin(), row.begin() + 8);
          }
          if (piece.finish != Finish::None) break;
        }
        session.rewind(std::min<uint64_t>(session.position(), 40));
        session.append(make_tokens(2, 9, 250));
      }
      return std::pair(tokens, logits);
    };
    const auto expected = talk(Engine::create(model, draft_options(Speculation::Off)));
    const auto got = talk(Engine::create(model, draft_options(Speculation::Forced), draft));
    EXPECT_EQ(got.first, expected.first) << way.name;
    EXPECT_TRUE(same_bits(got.second, expected.second)) << way.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Drafts, testing::ValuesIn(kDraftSubjects),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(DraftModels, PerfectOnesAreRightWhenTokensAreDrawn) {
  const auto model = load_one({});
  const auto draft = load_one({});
  for (const char* name : {"Greedy", "Drawn", "Penalised", "Steered", "WithinGrammar"}) {
    const auto way = std::ranges::find_if(
        ways(), [name](const Way& one) { return std::string_view(one.name) == name; });
    const auto engine = Engine::create(model, draft_options(Speculation::Forced), draft);
    (void)ask_way(*engine, *way, 20, 120);
    const DraftStats stats = engine->draft_model()->stats();
    EXPECT_GT(stats.right_tokens, stats.guessed_tokens * 8 / 10)
        << name << ": " << engine->describe_drafters();
    EXPECT_GT(stats.right_tokens, 5U) << name;
  }
}

TEST(DraftModels, OfStatesAndOthersChangeNoAnswer) {
  for (const auto& [architecture, draft] :
       {std::pair("mamba2", "mamba2"), std::pair("llama", "mamba2"),
        std::pair("qwen3next", "llama"), std::pair("llama", "qwen3next")}) {
    const auto model = load_random_tiny(architecture, 64, 1);
    const auto small = load_random_tiny(draft, 64, 1);
    const auto off = Engine::create(model, draft_options(Speculation::Off));
    const auto on = Engine::create(model, draft_options(Speculation::Forced), small);
    EXPECT_EQ(answers_of(on), answers_of(off)) << architecture << " by " << draft;
    const EngineMetrics metrics = on->metrics();
    EXPECT_GT(metrics.draft_model_guesses_total, 20U) << on->describe_drafters();
    if (std::string_view(architecture) == draft) {
      EXPECT_GT(metrics.draft_model_right_total, metrics.draft_model_guesses_total / 4);
    }
  }
}

TEST(DraftModels, GuessBesideStepsOfAQueue) {
  const auto model = load_delayed({}, {.slice = 64});
  const auto draft = load_one({});
  const auto off = Engine::create(model, draft_options(Speculation::Off));
  const auto on = Engine::create(model, draft_options(Speculation::Forced), draft);
  EXPECT_EQ(answers_of(on), answers_of(off));
}

TEST(DraftModels, OfAnotherVocabularyAreRefusedWithTheReason) {
  const auto model = load_one({});
  const auto refusal = [&](const std::shared_ptr<const Model>& draft) -> std::string {
    try {
      (void)Engine::create(model, draft_options(Speculation::Auto), draft);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Unsupported);
      return error.what();
    }
    return {};
  };
  const std::string why = refusal(load_random_tiny("gpt2", 64, 1));
  EXPECT_NE(why.find("its vocabulary is another one: token"), std::string::npos) << why;
  EXPECT_NE(refusal(load_random_tiny("t5", 64, 1)).find("draft model"), std::string::npos);
}

/// Texts compete for a draft cache that holds one of them.
TEST(DraftModels, WithoutMemoryLeaveTheEngineToItself) {
  const auto model = load_one({});
  const auto draft = load_one({});
  const auto expected = answers_of(Engine::create(model, draft_options(Speculation::Off)));
  const uint64_t block = Engine::create(draft)->pools().front()->block_bytes();
  for (const uint64_t blocks : {1U, 4U, 12U, 30U}) {
    EngineOptions options = draft_options(Speculation::Forced);
    options.draft_bytes = blocks * block;
    const auto engine = Engine::create(model, options, draft);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(answers_of(engine), expected) << blocks << " blocks";
    const EngineMetrics metrics = engine->metrics();
    EXPECT_EQ(metrics.draft_kv_limit_bytes, options.draft_bytes);
    EXPECT_LE(metrics.draft_kv_held_bytes, options.draft_bytes);
    if (blocks > 4) continue;
    EXPECT_NE(engine->describe_drafters().find("not used for"), std::string::npos)
        << engine->describe_drafters();
  }
}

/// Refuses memory after a number of blocks.
class MeanSystem final : public FaultySystem {
 public:
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    if (left != kNever && left-- == 0) left = 0;
    return left == 0 ? nullptr : FaultySystem::allocate(size_bytes, alignment);
  }
  std::atomic<uint64_t> left{kNever};  ///< blocks until all are refused
};

TEST(DraftModels, RefusedMemoryLeavesTheEngineToItself) {
  const auto model = load_one({});
  const auto expected = answers_of(Engine::create(model, draft_options(Speculation::Off)));
  uint64_t given_up = 0;
  for (uint64_t n = 1; n < 40; n += 3) {
    const auto system = std::make_shared<MeanSystem>();
    const auto draft = load_one({}, system);
    const auto engine = Engine::create(model, draft_options(Speculation::Forced), draft);
    system->left = n;
    EXPECT_EQ(answers_of(engine), expected) << n;
    given_up += engine->draft_model()->stats().given_up;
    system->left = FaultySystem::kNever;
  }
  EXPECT_GT(given_up, 0U);
}

TEST(DraftModels, EndWithCancelledRequests) {
  const auto model = load_one({});
  const auto draft = load_one({});
  const auto off = Engine::create(model, draft_options(Speculation::Off));
  const auto engine = Engine::create(model, draft_options(Speculation::Forced), draft);
  Session known(off, SessionOptions{256});
  known.append(make_tokens(30, 4, 250));
  (void)whole_answer(*off, *known.submit(greedy_sampler(), limits(150)));
  for (const uint64_t cut : {1U, 2U, 5U, 11U}) {
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(30, 4, 250));
    const auto generation = session.submit(greedy_sampler(), limits(150));
    for (uint64_t i = 0; i < cut; ++i) {
      ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
      (void)engine->fetch(*generation);
    }
    std::thread canceller([&] { engine->cancel(*generation); });
    try {
      (void)whole_answer(*engine, *generation);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Cancelled);
    }
    canceller.join();
    EXPECT_TRUE(
        std::equal(session.tokens().begin(), session.tokens().end(), known.tokens().begin()));
  }
}

TEST(DraftModels, AnEngineEndsBeforeItsRequests) {
  const auto draft = load_one({});
  auto engine = Engine::create(load_one({}), draft_options(Speculation::Forced), draft);
  Session session(engine, SessionOptions{256});
  session.append(make_tokens(30, 4, 250));
  const auto generation = session.submit(greedy_sampler(), limits(150));
  ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
}

/// Requests of several threads, which drive in turns.
TEST(DraftModels, ServeManyThreads) {
  const auto model = load_one({});
  const auto draft = load_one({});
  const auto expected = answers_of(Engine::create(model, draft_options(Speculation::Off)));
  const auto engine = Engine::create(model, draft_options(Speculation::Forced), draft);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(answers_of(engine), expected); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DraftModels, AUselessOneIsGivenUp) {
  const auto model = load_one({});
  const auto engine =
      Engine::create(model, draft_options(Speculation::Auto), load_one(tiny_with_seed(77)));
  for (uint32_t i = 0; i < 20; ++i) {
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(20, 7 + i, 250));
    Sampler sampler;
    sampler.set("seed", int64_t{i});
    (void)whole_answer(*engine, *session.submit(sampler, limits(200)));
  }
  const EngineMetrics metrics = engine->metrics();
  EXPECT_LT(metrics.draft_model_guesses_total, metrics.generated_tokens_total / 10)
      << engine->describe_drafters();
  EXPECT_NE(engine->describe_drafters().find("not used now"), std::string::npos)
      << engine->describe_drafters();
}

TEST(DraftModels, AreBoundedByOptions) {
  const auto model = load_one({});
  const auto draft = load_one({});
  const auto engine = Engine::create(model, draft_options(Speculation::Forced), draft);
  const auto drafted = [&](Guessing of_session, Guessing of_request, uint32_t most) {
    SessionOptions session_options;
    session_options.context = 256;
    session_options.speculate = of_session;
    Session session(engine, session_options);
    session.append(make_tokens(30, 4, 250));
    GenerationOptions options = limits(61);
    options.speculate = of_request;
    options.draft_max = most;
    const auto generation = session.submit(greedy_sampler(), options);
    (void)whole_answer(*engine, *generation);
    return engine->draft_report(*generation).drafted;
  };
  EXPECT_GT(drafted(Guessing::Engine, Guessing::Engine, 16), 40U);
  EXPECT_EQ(drafted(Guessing::Off, Guessing::Engine, 16), 0U);
  EXPECT_EQ(drafted(Guessing::Engine, Guessing::Off, 16), 0U);
  EXPECT_GT(drafted(Guessing::Off, Guessing::Forced, 16), 40U);
  EXPECT_EQ(drafted(Guessing::Engine, Guessing::Engine, 0), 0U);
  const uint64_t one_each = drafted(Guessing::Engine, Guessing::Engine, 1);
  EXPECT_LE(one_each, 30U) << "beside every second token";
  EXPECT_GT(one_each, 20U);
}

// ---- Prices -------------------------------------------------------------------------------------

TEST(DraftPrices, AreMeasuredAndKept) {
  GuessPricer steps;
  for (int i = 0; i < 20; ++i) {
    steps.observe(1, 10'000'000);
    steps.observe(5, 11'000'000);
  }
  const auto plan_of = [&steps](float chance, uint64_t guess_ns, uint64_t behind, double most_ns) {
    DraftPricer pricer;
    for (int i = 0; i < 20; ++i) pricer.observe_round(1, guess_ns);
    pricer.observe_reading(100, 100 * guess_ns / 8);
    const DraftPricer::Text text{chance, behind, 8};
    return pricer.plan(std::span(&text, 1), steps, {1, most_ns});
  };
  EXPECT_GE(plan_of(0.9F, 500'000, 0, 0).depth, 4U);
  EXPECT_EQ(plan_of(0.4F, 1'000'000, 0, 0).depth, 2U);
  EXPECT_EQ(plan_of(0.05F, 1'000'000, 0, 0).depth, 0U);
  EXPECT_EQ(plan_of(0.9F, 10'000'000, 0, 0).depth, 0U) << "as slow as the model itself";
  EXPECT_EQ(plan_of(0.9F, 500'000, 1'000'000, 0).depth, 0U) << "too much to read";
  EXPECT_EQ(plan_of(0.9F, 500'000, 0, 12'000'000).depth, 2U) << "bounded time";
}

TEST(DraftPrices, ProbeSeldom) {
  GuessPricer steps;
  steps.observe(1, 10'000'000);
  DraftPricer pricer;
  for (int i = 0; i < 20; ++i) pricer.observe_round(1, 1'000'000);
  for (int i = 0; i < 100; ++i) pricer.observe_guess(0.5F, false);
  const DraftPricer::Text text{pricer.chance(), 0, 8};
  uint64_t spent_ns = 0;
  uint32_t probes = 0;
  for (int i = 0; i < 1000; ++i) {
    const DraftPricer::Plan plan = pricer.plan(std::span(&text, 1), steps, {1, 0});
    if (plan.depth > 0) {
      EXPECT_TRUE(plan.is_probe);
      spent_ns += uint64_t{plan.depth} * 1'000'000;
      ++probes;
    }
  }
  EXPECT_GT(probes, 20U);
  EXPECT_LE(spent_ns, uint64_t{1000} * 10'000'000 / 100);
  for (int i = 0; i < 400; ++i) pricer.observe_guess(0.5F, true);
  const DraftPricer::Text better{pricer.chance(), 0, 8};
  EXPECT_FALSE(pricer.plan(std::span(&better, 1), steps, {1, 0}).is_probe) << "used again";
}

}  // namespace
}  // namespace tenon
