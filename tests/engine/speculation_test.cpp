// Guesses change no answer: for any drafter, sampler, cache and company, tokens, texts,
// log-probabilities and ends have the bits of an engine without speculation.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "engine/text_drafter.h"
#include "tests/base/faulty_system.h"
#include "tests/engine/answers.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

/// How a drafter behaves that knows the answer.
enum class Temper {
  Perfect,
  Wrong,       ///< never right
  WrongLater,  ///< right for a changing number of tokens
  Outside,     ///< then tokens outside the vocabulary
  Boundless,   ///< claims to have written more than it was given room for
  Throwing,
};
constexpr Temper kTempers[] = {Temper::Perfect, Temper::Wrong,     Temper::WrongLater,
                               Temper::Outside, Temper::Boundless, Temper::Throwing};

using Texts = std::vector<std::vector<Token>>;

class KnowingDrafter final : public Drafter {
 public:
  KnowingDrafter(Temper temper, std::shared_ptr<const Texts> texts)
      : temper_(temper), texts_(std::move(texts)) {}
  size_t propose(std::span<const Token> text, std::span<Token> tokens,
                 std::span<float> probabilities) override {
    ++calls_;
    if (temper_ == Temper::Throwing && calls_ % 3 == 0) throw Error(Code::Internal, "no guess");
    const std::vector<Token>* known = nullptr;
    for (const auto& one : *texts_) {
      const bool begins =
          one.size() > text.size() && std::equal(text.begin(), text.end(), one.begin());
      if (begins) known = &one;
    }
    if (known == nullptr) return 0;
    const size_t count = std::min(tokens.size(), known->size() - text.size());
    const size_t right = temper_ == Temper::Wrong                                      ? 0
                         : temper_ == Temper::WrongLater || temper_ == Temper::Outside ? calls_ % 5
                                                                                       : count;
    for (size_t i = 0; i < count; ++i) {
      const Token token = (*known)[text.size() + i];
      tokens[i] = i < right ? token : (token + 1) % 200;
      if (i >= right && temper_ == Temper::Outside) {
        tokens[i] = calls_ % 2 == 0 ? -1 : std::numeric_limits<Token>::max();
      }
      probabilities[i] =
          temper_ == Temper::Boundless ? std::numeric_limits<float>::quiet_NaN() : 0.9F;
    }
    return temper_ == Temper::Boundless ? 1000 : count;
  }

 private:
  Temper temper_;
  std::shared_ptr<const Texts> texts_;
  size_t calls_ = 0;
};

struct Subject {
  const char* name;
  std::shared_ptr<const Model> (*load)();
  bool overlaps = false;
};
void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

std::shared_ptr<const Model> load_cached(TinyModel tiny, CacheType type) {
  ModelOptions options;
  options.slice = 64;
  options.threads = 1;  // steps of few rows: threads would mostly wait for each other
  options.cache_type = type;
  return load_tiny(tiny, std::move(options));
}
std::shared_ptr<const Model> load_with_slice(TinyModel tiny) {
  return load_cached(std::move(tiny), CacheType::F16);
}

const Subject kSubjects[] = {
    {"full", [] { return load_with_slice({}); }},
    {"window", [] { return load_with_slice(tiny_window()); }},
    {"eightBits", [] { return load_cached({}, CacheType::Int8); }},
    {"fourBits", [] { return load_cached(tiny_window(), CacheType::Q4); }},
    {"latent", [] { return load_random_tiny("deepseek2", 64, 1); }},
    {"pools", [] { return load_random_tiny("deepseek4", 64, 1); }},
    {"state", [] { return load_random_tiny("mamba2", 64, 1); }},
    {"mixed", [] { return load_random_tiny("qwen3next", 64, 1); }},
    {"queue", [] { return load_delayed({}, {.slice = 64}); }, true},
};

constexpr uint64_t kAnswer = 40;

EngineOptions with(Speculation speculation) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  options.state_checkpoint_tokens = 64;
  options.speculation = speculation;
  return options;
}

struct Asked {
  WholeAnswer answer;
  std::vector<Token> text;
  bool operator==(const Asked&) const = default;
};

/// Answers of one engine to all ways at once.
std::vector<Asked> ask_all(const std::shared_ptr<Engine>& engine, uint64_t* drafted = nullptr) {
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  uint32_t number = 0;
  for (const Way& way : ways()) {
    auto& session = *sessions.emplace_back(std::make_unique<Session>(engine, SessionOptions{256}));
    session.append(make_tokens(28 + number, 1 + number % 3, 200));
    Sampler sampler;
    sampler.set("seed", int64_t{number});
    GenerationOptions options = limits(kAnswer + number);
    way.set(sampler, options, engine->model());
    // Every second one, since log-probabilities take other ways.
    options.logprobs.of_drawn = options.logprobs.of_drawn || number % 2 == 0;
    ++number;
    generations.push_back(session.submit(sampler, options));
  }
  std::vector<Asked> all;
  for (size_t i = 0; i < sessions.size(); ++i) {
    Asked asked{whole_answer(*engine, *generations[i]), {}};
    asked.text.assign(sessions[i]->tokens().begin(), sessions[i]->tokens().end());
    all.push_back(std::move(asked));
    if (drafted != nullptr) *drafted += engine->draft_report(*generations[i]).drafted;
  }
  return all;
}

std::shared_ptr<Texts> texts_of(const std::vector<Asked>& all) {
  auto texts = std::make_shared<Texts>();
  for (const Asked& one : all) texts->push_back(one.text);
  return texts;
}

class Guesses : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override { model_ = GetParam().load(); }
  std::shared_ptr<const Model> model_;
};

TEST_P(Guesses, ChangeNoAnswerOfRequests) {
  const std::vector<Asked> expected = ask_all(Engine::create(model_, with(Speculation::Off)));
  const auto texts = texts_of(expected);
  for (const Temper temper : kTempers) {
    const auto engine = Engine::create(model_, with(Speculation::Forced));
    engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(temper, texts); });
    uint64_t drafted = 0;
    const std::vector<Asked> answers = ask_all(engine, &drafted);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(answers[i].answer, expected[i].answer)
          << ways()[i].name << ", drafter " << static_cast<int>(temper);
      EXPECT_EQ(answers[i].text, expected[i].text) << ways()[i].name;
    }
    const EngineMetrics metrics = engine->metrics();
    EXPECT_GT(drafted, 0U);
    // Steps begun ahead have no guesses.
    if (temper == Temper::Perfect && !GetParam().overlaps) {
      EXPECT_GT(metrics.accepted_tokens_total, metrics.generated_tokens_total / 2);
    }
    // Grammars leave no choice at times.
    if (temper == Temper::Wrong) {
      EXPECT_LT(metrics.accepted_tokens_total, metrics.generated_tokens_total / 8);
    }
  }
}

TEST_P(Guesses, OfTheTextItselfChangeNoAnswer) {
  const std::vector<Asked> expected = ask_all(Engine::create(model_, with(Speculation::Off)));
  EXPECT_EQ(ask_all(Engine::create(model_, with(Speculation::Forced))), expected);
  EXPECT_EQ(ask_all(Engine::create(model_, with(Speculation::Auto))), expected);
}

/// A session's answer piece by piece, with its text forked, saved, rewound and gone on with.
struct Talk {
  std::vector<Token> tokens;
  std::string text;
  std::vector<float> logits;
  bool operator==(const Talk&) const = default;
};

Talk talk(const std::shared_ptr<Engine>& engine, const Way& way, SessionStats* stats = nullptr) {
  Session session(engine, SessionOptions{256});
  session.append(make_tokens(30, 2, 200));
  Talk heard;
  const auto speak = [&](Session& one, uint64_t count, uint64_t seed) {
    Sampler sampler;
    sampler.set("seed", static_cast<int64_t>(seed));
    GenerationOptions options = limits(count);
    way.set(sampler, options, engine->model());
    EndRules rules = options.ends;
    rules.tokens_left = count;
    for (uint64_t i = 0; i < count; ++i) {
      const Session::Piece piece = one.next_piece(sampler, rules);
      if (piece.token >= 0) heard.tokens.push_back(piece.token);
      heard.text += piece.text;
      if (i % 5 == 0 && one.has_drawn_logits()) {
        const std::span<const float> row = one.drawn_logits();
        heard.logits.insert(heard.logits.end(), row.begin(), row.begin() + 8);
      }
      if (piece.finish != Finish::None) break;
    }
  };
  speak(session, 20, 1);
  const auto fork = session.fork();
  std::vector<std::byte> saved;
  session.save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  speak(session, 9, 2);
  speak(*fork, 9, 3);
  session.rewind(std::min<uint64_t>(session.position(), 37));
  session.append(make_tokens(2, 9, 200));
  speak(session, 12, 4);
  Session restored(engine, SessionOptions{256});
  restored.restore(*ByteSource::from_memory(saved, "snapshot"));
  speak(restored, 9, 5);
  if (stats != nullptr) *stats = session.stats();
  const std::span<const float> last = session.logits();
  heard.logits.insert(heard.logits.end(), last.begin(), last.end());
  // A request goes on where calls stopped.
  const auto generation = session.submit(greedy_sampler(), limits(10));
  heard.text += whole_answer(*engine, *generation).text;
  heard.tokens.insert(heard.tokens.end(), session.tokens().begin(), session.tokens().end());
  return heard;
}

/// Every token of each text that a talk goes through.
class EchoDrafter final : public Drafter {
 public:
  EchoDrafter(std::shared_ptr<const std::vector<Token>> heard, size_t wrong)
      : heard_(std::move(heard)), wrong_(wrong) {}
  size_t propose(std::span<const Token> text, std::span<Token> tokens,
                 std::span<float> probabilities) override {
    // The tokens after the latest place where the last three stand.
    for (size_t end = heard_->size() - 1; end > 3; --end) {
      if (!std::equal(text.end() - 3, text.end(),
                      heard_->begin() + static_cast<ptrdiff_t>(end) - 3)) {
        continue;
      }
      const size_t count = std::min(tokens.size(), heard_->size() - end);
      for (size_t i = 0; i < count; ++i) {
        tokens[i] = (*heard_)[end + i] + (wrong_ > 0 && (end + i) % wrong_ == 0 ? 1 : 0);
        probabilities[i] = 0.9F;
      }
      return count;
    }
    return 0;
  }

 private:
  std::shared_ptr<const std::vector<Token>> heard_;
  size_t wrong_;
};

TEST_P(Guesses, ChangeNoAnswerOfSessions) {
  for (const Way& way : ways()) {
    const Talk expected = talk(Engine::create(model_, with(Speculation::Off)), way);
    const auto heard = std::make_shared<std::vector<Token>>(expected.tokens);
    for (const size_t wrong : {0U, 1U, 4U}) {
      const auto engine = Engine::create(model_, with(Speculation::Forced));
      engine->set_drafters([&] { return std::make_shared<EchoDrafter>(heard, wrong); });
      SessionStats stats;
      const Talk got = talk(engine, way, &stats);
      EXPECT_EQ(got.tokens, expected.tokens) << way.name << ", wrong " << wrong;
      EXPECT_EQ(got.text, expected.text) << way.name;
      EXPECT_TRUE(same_bits(got.logits, expected.logits)) << way.name;
      const std::string_view kind = GetParam().name;
      if (kind == "state" || kind == "mixed") {
        EXPECT_EQ(stats.drafted_tokens, 0U) << "states do not go back while a session waits";
      } else if (wrong == 0 && std::string_view(way.name) == "Greedy") {
        EXPECT_GT(stats.accepted_tokens, 0U) << way.name;
      }
    }
  }
}

TEST_P(Guesses, EndWithACancelledOrFailedRequest) {
  const std::vector<Asked> expected = ask_all(Engine::create(model_, with(Speculation::Off)));
  const auto texts = texts_of(expected);
  const auto engine = Engine::create(model_, with(Speculation::Forced));
  engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(Temper::WrongLater, texts); });
  for (const uint64_t cut : {1U, 3U, 7U}) {
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(28, 1, 200));
    const auto generation = session.submit(greedy_sampler(), limits(kAnswer));
    for (uint64_t i = 0; i < cut; ++i) {
      ASSERT_TRUE(engine->wait(*generation, UINT64_MAX));
      (void)engine->fetch(*generation);
    }
    engine->cancel(*generation);
    std::vector<Token> all;
    try {
      (void)whole_answer(*engine, *generation);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Cancelled);
    }
    // Goes on with the answer where it was cut.
    const uint64_t size = session.position();
    ASSERT_GT(size, 28U);
    (void)generate(session, 10);
    const std::vector<Token>& text = expected[0].text;
    EXPECT_TRUE(std::equal(session.tokens().begin(), session.tokens().end(), text.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Guesses, testing::ValuesIn(kSubjects),
                         [](const auto& instance) { return std::string(instance.param.name); });

// ---- Memory -------------------------------------------------------------------------------------

/// Runs requests in a cache that their texts fill.
EngineMetrics run_in_little_memory(Speculation speculation, Temper temper) {
  static const std::shared_ptr<const Model> model = load_with_slice({});
  EngineOptions options = with(speculation);
  // Fewer blocks than the idle sessions fill.
  options.cache_bytes = 24 * Engine::create(model)->pools().front()->block_bytes();
  const auto engine = Engine::create(model, options);
  auto texts = std::make_shared<Texts>();
  {
    const auto off = Engine::create(model, with(Speculation::Off));
    for (uint32_t i = 0; i < 3; ++i) {
      Session session(off, SessionOptions{256});
      session.append(make_tokens(60, 20 + i, 200));
      (void)whole_answer(*off, *session.submit(greedy_sampler(), limits(70)));
      texts->emplace_back(session.tokens().begin(), session.tokens().end());
    }
  }
  engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(temper, texts); });
  // Fills the prefix index and leaves idle sessions.
  std::vector<std::unique_ptr<Session>> idle;
  for (uint32_t i = 0; i < 12; ++i) {
    auto& session = *idle.emplace_back(std::make_unique<Session>(engine, SessionOptions{256}));
    session.append(make_tokens(100, 40 + i, 200));
    session.prefill();
  }
  for (uint32_t i = 0; i < 3; ++i) {
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(60, 20 + i, 200));
    const WholeAnswer answer = whole_answer(*engine, *session.submit(greedy_sampler(), limits(70)));
    EXPECT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), (*texts)[i].begin() + 60));
    EXPECT_LE(engine->metrics().kv_held_bytes, options.cache_bytes);
  }
  return engine->metrics();
}

/// A system that refuses blocks of two rows of logits or more.
class RefusingSystem final : public FaultySystem {
 public:
  void* allocate(uint64_t size_bytes, uint64_t alignment) noexcept override {
    const uint64_t bytes = row_bytes;
    const bool is_rows = bytes > 0 && size_bytes % bytes == 0 && size_bytes > bytes &&
                         size_bytes <= (Drafter::kMostGuesses + 1) * bytes;
    num_seen += is_rows ? 1 : 0;
    if (refuses && is_rows) return nullptr;
    return FaultySystem::allocate(size_bytes, alignment);
  }
  std::atomic<uint64_t> row_bytes{0};  ///< 0: refuses nothing
  std::atomic<uint64_t> num_seen{0};   ///< such blocks asked for
  std::atomic<bool> refuses{true};
};

/// Loads the model and has rows refused from now on.
std::shared_ptr<const Model> load_in(const std::shared_ptr<RefusingSystem>& system) {
  ModelOptions options;
  options.slice = 64;
  options.threads = 1;
  options.system = system;
  auto model = load_tiny({}, std::move(options));
  system->row_bytes = model->spec().vocab * sizeof(float);
  return model;
}

/// An answer of a session's calls whose text is known to the drafter.
std::vector<Token> answer_of_calls(const std::shared_ptr<Engine>& engine) {
  Session session(engine, SessionOptions{256});
  session.append(make_tokens(30, 2, 200));
  (void)generate(session, 40);
  return {session.tokens().begin(), session.tokens().end()};
}

TEST(GuessMemory, RefusedForRowsOfASessionLeavesItWithoutGuesses) {
  const auto system = std::make_shared<RefusingSystem>();
  const auto model = load_in(system);
  const std::vector<Token> expected =
      answer_of_calls(Engine::create(model, with(Speculation::Off)));
  auto texts = std::make_shared<Texts>();
  texts->push_back(expected);
  for (const bool refuses : {true, false}) {
    system->refuses = refuses;
    system->num_seen = 0;
    const auto engine = Engine::create(model, with(Speculation::Forced));
    engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(Temper::Perfect, texts); });
    EXPECT_EQ(answer_of_calls(engine), expected);
    EXPECT_TRUE(refuses ? system->num_seen == 1 : system->num_seen > 1) << system->num_seen;
    EXPECT_EQ(engine->metrics().drafted_tokens_total > 0, !refuses);
  }
  // Nothing is held for a text that never repeats.
  system->num_seen = 0;
  const auto engine = Engine::create(model, with(Speculation::Forced));
  engine->set_drafters(
      [] { return std::make_shared<KnowingDrafter>(Temper::Perfect, std::make_shared<Texts>()); });
  EXPECT_EQ(answer_of_calls(engine), expected);
  EXPECT_EQ(system->num_seen, 0U);
}

TEST(GuessMemory, RefusedForRowsOfAStepLeavesItWithoutGuesses) {
  const auto system = std::make_shared<RefusingSystem>();
  const auto model = load_in(system);
  auto texts = std::make_shared<Texts>();
  const auto ask = [&](Speculation speculation) {
    const auto engine = Engine::create(model, with(speculation));
    engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(Temper::Perfect, texts); });
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(30, 2, 200));
    const WholeAnswer answer = whole_answer(*engine, *session.submit(greedy_sampler(), limits(40)));
    if (texts->empty()) texts->emplace_back(session.tokens().begin(), session.tokens().end());
    return std::pair(answer, engine->metrics().drafted_tokens_total);
  };
  const auto expected = ask(Speculation::Off);
  ASSERT_EQ(system->num_seen, 0U);
  EXPECT_EQ(ask(Speculation::Forced), expected);
  EXPECT_GT(system->num_seen, 0U);
  system->refuses = false;
  const auto [answer, drafted] = ask(Speculation::Forced);
  EXPECT_EQ(answer, expected.first);
  EXPECT_GT(drafted, 20U);
}

TEST(GuessMemory, NoDrafterFailsACallOrARequest) {
  const auto model = load_with_slice({});
  const std::vector<Token> expected =
      answer_of_calls(Engine::create(model, with(Speculation::Off)));
  const DrafterFactory factories[] = {[]() -> std::shared_ptr<Drafter> { throw std::bad_alloc(); },
                                      []() -> std::shared_ptr<Drafter> { return nullptr; }};
  for (const DrafterFactory& factory : factories) {
    const auto engine = Engine::create(model, with(Speculation::Forced));
    engine->set_drafters(factory);
    EXPECT_EQ(answer_of_calls(engine), expected);
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(30, 2, 200));
    const WholeAnswer answer = whole_answer(*engine, *session.submit(greedy_sampler(), limits(40)));
    EXPECT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), expected.begin() + 30));
  }
}

TEST(GuessMemory, BlocksThatClaimedGuessesFilledAreReused) {
  const auto model = load_with_slice({});
  const auto talk_twice = [&](Speculation speculation, std::shared_ptr<Texts> texts) {
    const auto engine = Engine::create(model, with(speculation));
    engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(Temper::Perfect, texts); });
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(30, 2, 200));
    (void)generate(session, 120);
    if (texts->empty()) texts->emplace_back(session.tokens().begin(), session.tokens().end());
    EXPECT_EQ(session.stats().accepted_tokens > 0, speculation == Speculation::Forced);
    Session second(engine, SessionOptions{256});
    second.append(session.tokens());
    second.prefill();
    return second.stats().prefill_tokens;
  };
  const auto texts = std::make_shared<Texts>();
  const uint64_t expected = talk_twice(Speculation::Off, texts);
  EXPECT_LT(expected, 100U);
  EXPECT_EQ(talk_twice(Speculation::Forced, texts), expected);
}

TEST(GuessMemory, OfARequestIsFreedAtItsEnd) {
  const auto engine = Engine::create(load_with_slice({}), with(Speculation::Forced));
  std::weak_ptr<Drafter> drafter;
  engine->set_drafters([&] {
    auto made = std::make_shared<KnowingDrafter>(Temper::Perfect, std::make_shared<Texts>());
    drafter = made;
    return made;
  });
  Session session(engine, SessionOptions{256});
  session.append(make_tokens(30, 2, 200));
  const auto generation = session.submit(greedy_sampler(), limits(4));
  EXPECT_FALSE(drafter.expired());
  EXPECT_EQ(whole_answer(*engine, *generation).tokens.size(), 4U);
  EXPECT_TRUE(drafter.expired());
}

TEST(GuessMemory, EvictsAndPreemptsNothing) {
  const EngineMetrics off = run_in_little_memory(Speculation::Off, Temper::Wrong);
  ASSERT_GT(off.prefix_evicted_total + off.idle_blocks_taken_total, 0U) << "memory is short";
  const EngineMetrics wrong = run_in_little_memory(Speculation::Forced, Temper::Wrong);
  EXPECT_GT(wrong.drafted_tokens_total, 0U);
  EXPECT_EQ(wrong.accepted_tokens_total, 0U);
  EXPECT_EQ(wrong.prefix_evicted_total, off.prefix_evicted_total);
  EXPECT_EQ(wrong.idle_blocks_taken_total, off.idle_blocks_taken_total);
  EXPECT_EQ(wrong.preempted_total, off.preempted_total);
  const EngineMetrics right = run_in_little_memory(Speculation::Forced, Temper::Perfect);
  EXPECT_GT(right.accepted_tokens_total, 100U);
  EXPECT_LE(right.prefix_evicted_total, off.prefix_evicted_total);
  EXPECT_EQ(right.preempted_total, off.preempted_total);
}

TEST(GuessMemory, KeepsTheCheckpointsOfNoSpeculation) {
  for (const char* architecture : {"mamba2", "qwen3next"}) {
    const auto model = load_random_tiny(architecture, 64, 1);
    for (const bool shares : {false, true}) {
      auto texts = std::make_shared<Texts>();
      const auto used = [&](Speculation speculation, Temper temper, bool knows) {
        EngineOptions options = with(speculation);
        options.prefix_cache = shares;
        const auto engine = Engine::create(model, options);
        engine->set_drafters([&] {
          return std::make_shared<KnowingDrafter>(temper,
                                                  knows ? texts : std::make_shared<Texts>());
        });
        auto session = std::make_unique<Session>(engine, SessionOptions{256});
        session->append(make_tokens(20, 5, 200));
        (void)whole_answer(*engine, *session->submit(greedy_sampler(), limits(150)));
        if (texts->empty()) texts->emplace_back(session->tokens().begin(), session->tokens().end());
        // The state before the latest one may be a shared one.
        if (shares) session.reset();
        return engine->metrics().kv_used_bytes;
      };
      const uint64_t expected = used(Speculation::Off, Temper::Perfect, false);
      EXPECT_EQ(used(Speculation::Forced, Temper::Perfect, false), expected)
          << architecture << ", no guesses, shares " << shares;
      EXPECT_EQ(used(Speculation::Forced, Temper::Perfect, true), expected)
          << architecture << ", right guesses, shares " << shares;
      EXPECT_EQ(used(Speculation::Forced, Temper::WrongLater, true), expected)
          << architecture << ", wrong guesses, shares " << shares;
    }
  }
}

// ---- Predicted answers --------------------------------------------------------------------------

std::vector<Token> proposed(Drafter& drafter, std::span<const Token> text) {
  std::vector<Token> tokens(Drafter::kMostGuesses);
  std::vector<float> claims(Drafter::kMostGuesses);
  tokens.resize(drafter.propose(text, tokens, claims));
  return tokens;
}

TEST(Predictions, GoOnInStepFromTheFirstTokenOfTheAnswer) {
  const std::vector<Token> predicted = {10, 11, 12, 13, 14, 15};
  const auto drafter = [&] {
    return PredictionDrafter(std::make_shared<const Prediction>(predicted), 3);
  };
  using Tokens = std::vector<Token>;
  PredictionDrafter before = drafter();
  EXPECT_EQ(proposed(before, Tokens{1, 2, 3}), predicted);
  EXPECT_EQ(proposed(before, Tokens{1, 2, 3, 10}), (Tokens{11, 12, 13, 14, 15}));
  PredictionDrafter first = drafter();  // asked first when a token is drawn
  EXPECT_EQ(proposed(first, Tokens{1, 2, 3, 10}), (Tokens{11, 12, 13, 14, 15}));
  EXPECT_EQ(proposed(first, Tokens{1, 2, 3, 10, 11, 12}), (Tokens{13, 14, 15}));
  EXPECT_EQ(proposed(first, Tokens{1, 2, 3, 10, 11}), Tokens({12, 13, 14, 15})) << "cut back";
  EXPECT_EQ(proposed(first, Tokens{1, 2, 3, 10, 11, 9}), Tokens());
  EXPECT_EQ(proposed(first, Tokens{1, 2, 3, 10, 11, 9, 12, 13}), (Tokens{14, 15})) << "again";
  PredictionDrafter other = drafter();
  EXPECT_EQ(proposed(other, Tokens{1, 2, 3, 4}), Tokens());
  EXPECT_EQ(proposed(other, Tokens{1, 2, 3, 4, 10}), Tokens());
  EXPECT_EQ(proposed(other, Tokens{1, 2, 3, 4, 10, 11}), (Tokens{12, 13, 14, 15}));
}

TEST(Predictions, AreSharedAndNoLongerThanTheAnswer) {
  const auto model = load_with_slice({});
  const auto engine = Engine::create(model, with(Speculation::Forced));
  const auto prompt = make_tokens(30, 2, 200);
  const auto ask = [&](uint64_t count, std::span<const Token> prediction) {
    Session session(engine, SessionOptions{256});
    session.append(prompt);
    GenerationOptions options = limits(count);
    options.prediction = prediction;
    const auto generation = session.submit(greedy_sampler(), options);
    EXPECT_TRUE(generation->options.prediction.empty()) << "the caller's memory";
    const WholeAnswer answer = whole_answer(*engine, *generation);
    return std::pair(answer.tokens, engine->draft_report(*generation).predicted);
  };
  std::vector<Token> prediction = ask(40, {}).first;
  prediction.resize(1'000'000, 5);
  const auto [tokens, predicted] = ask(40, prediction);
  EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), prediction.begin()));
  EXPECT_EQ(predicted, 36U) << "all but the prompt's token and the last one of three steps";
  const auto shared = engine->share_prediction(prediction);
  EXPECT_EQ(engine->share_prediction(prediction), shared);
  EXPECT_NE(engine->share_prediction(std::span(prediction).first(40)), shared);
}

// ---- What is computed ---------------------------------------------------------------------------

/// Tells the processor time of the thread that asks, which a busy machine does not stretch.
class ThreadClock final : public FaultySystem {
 public:
  uint64_t now_ns() noexcept override { return thread_time_ns(); }
};

/// Computes an answer on this thread alone; returns the rows of its steps.
uint64_t rows_of(Temper temper, uint64_t count, EngineMetrics& metrics) {
  ModelOptions options;
  options.slice = 64;
  options.threads = 1;
  options.system = std::make_shared<ThreadClock>();
  const auto model = load_tiny({}, std::move(options));
  auto texts = std::make_shared<Texts>();
  const auto ask = [&](const std::shared_ptr<Engine>& engine) {
    Session session(engine, SessionOptions{256});
    session.append(make_tokens(20, 7, 200));
    (void)whole_answer(*engine, *session.submit(greedy_sampler(), limits(count)));
    if (texts->empty()) texts->emplace_back(session.tokens().begin(), session.tokens().end());
  };
  ask(Engine::create(model, with(Speculation::Off)));
  const auto engine = Engine::create(model, with(Speculation::Auto));
  engine->set_drafters([&] { return std::make_shared<KnowingDrafter>(temper, texts); });
  ask(engine);
  metrics = engine->metrics();
  return metrics.decode_tokens_total + metrics.drafted_tokens_total;
}

TEST(GuessControl, AUselessDrafterCostsFewRows) {
  EngineMetrics metrics;
  const uint64_t rows = rows_of(Temper::Wrong, 230, metrics);
  // Wrong ones are checked without being computed once they have been wrong.
  EXPECT_LE(metrics.drafted_tokens_total, 23U);
  EXPECT_LE(rows, 230U + 23U);
}

TEST(GuessControl, AGrammarGuessesNoBiasedOrForbiddenToken) {
  const auto model = load_with_slice({});
  grammar::MaskCache masks(model->tokenizer());
  Sampler sampler;
  sampler.set_grammar(std::make_unique<GrammarMatcher>(
      masks.of(Grammar::compile(GrammarKind::Regex, "abcdefghij[0-9]"))));
  const auto ahead = [&](std::span<const Token> forbidden) {
    const std::span<const Token> last_first = sampler.forced_ahead(forbidden);
    return std::vector<Token>(last_first.rbegin(), last_first.rend());
  };
  const std::vector<Token> all = ahead({});
  ASSERT_GT(all.size(), 3U);
  EXPECT_EQ(ahead(std::span(all).subspan(3, 1)), std::vector<Token>(all.begin(), all.begin() + 3));
  EXPECT_TRUE(ahead(std::span(all).first(1)).empty());
  sampler.set_logit_bias(all[2], 1.0F);
  EXPECT_EQ(ahead({}), std::vector<Token>(all.begin(), all.begin() + 2));
  EXPECT_EQ(sampler.forced(), all[0]) << "draws are as they were";
}

TEST(GuessControl, ForcedGuessesSaveSteps) {
  const std::vector<Way>& all = ways();
  const auto model = load_with_slice({});
  const auto off = Engine::create(model, with(Speculation::Off));
  const std::vector<Asked> expected = ask_all(off);
  const auto engine = Engine::create(model, with(Speculation::Forced));
  engine->set_drafters([texts = texts_of(expected)] {
    return std::make_shared<KnowingDrafter>(Temper::Perfect, texts);
  });
  EXPECT_EQ(ask_all(engine), expected);
  EXPECT_LT(engine->metrics().steps_total, off->metrics().steps_total / 2) << all.size();
}

}  // namespace
}  // namespace tenon
