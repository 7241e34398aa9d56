// Generating a token allocates no memory: this program counts operator new.
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "tests/base/counted_new.h"
#include "tests/base/faulty_system.h"
#include "tests/base/temp_folder.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using counted_new::num_allocations;

TEST(TokenPath, AllocatesNothing) {
  const auto system = std::make_shared<FaultySystem>();
  ModelOptions options;
  options.system = system;
  // Measured times decide when the first guess comes, whose rows need memory.
  EngineOptions engine = unbounded_engine();
  engine.speculation = Speculation::Off;
  Session session(tiny_engine({}, std::move(options), engine), SessionOptions{256});
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.7);
  sampler.set("top_k", int64_t{20});
  sampler.set("repeat_penalty", 1.1);
  session.append(make_tokens(20));
  // The first tokens allocate the sampler's memory and the slab.
  for (int i = 0; i < 100; ++i) session.next(sampler);
  const uint64_t before = num_allocations;
  const uint64_t calls_before = system->num_calls();
  for (int i = 0; i < 100; ++i) session.next(sampler);  // through several blocks
  EXPECT_EQ(num_allocations - before, 0u);
  EXPECT_EQ(system->num_calls() - calls_before, 0u);
  EXPECT_GT(before, 0u) << "the counter counts";
}

TEST(TokenPath, AllocatesNothingForRowsOfTablesInTheFile) {
  TinyModel tiny;
  tiny.tied = false;
  ModelOptions options;
  options.rows_on_demand = Switch::On;
  options.row_cache_bytes = 1000;  // nine rows: most are read repeatedly
  Session session(tiny_engine(tiny, std::move(options)), SessionOptions{256});
  const std::vector<Token> text = make_tokens(120);
  session.append(std::span(text).first(20));
  Sampler sampler = greedy_sampler();
  session.next(sampler);
  session.next(sampler);
  const uint64_t read_before = session.engine()->model().trunk().fetcher->rows_read();
  const uint64_t before = num_allocations;
  for (const Token token : std::span(text).subspan(20)) {
    session.append(std::span(&token, 1));
    session.prefill();
  }
  EXPECT_EQ(num_allocations - before, 0u);
  EXPECT_GT(session.engine()->model().trunk().fetcher->rows_read() - read_before, 50u);
}

// ---- Refused allocations ------------------------------------------------------------------------

/// Creates, submits, steps, forks, draws, saves and restores; frees everything at the end.
std::vector<Token> answer(const std::shared_ptr<const Model>& model, const std::string& path) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  options.speculation = Speculation::Off;  // guesses come by measured times
  const auto engine = Engine::create(model, options);
  Session session(engine, SessionOptions{128});
  session.append(make_tokens(40));
  GenerationOptions limits;
  limits.max_tokens = 3;
  limits.client = "a client whose key is no short one";
  limits.logprobs.num_top = 2;
  limits.ends.stops = std::make_shared<const StopStrings>(std::vector<std::string>{"never said"});
  // Half a character, as random weights draw it, so that the answer is cut back at times.
  limits.ends.banned =
      std::make_shared<const BannedTexts>(std::vector<std::string>{"\xef\xbf\xbd", "never drawn"});
  limits.ends.ignore_end = true;
  const auto generation = session.submit(greedy_sampler(), limits);
  std::vector<Token> tokens;
  for (;;) {
    engine->wait(*generation, UINT64_MAX);
    const Engine::Fetched fetched = engine->fetch(*generation);
    if (fetched.failure) std::rethrow_exception(fetched.failure);
    if (fetched.ended) break;
    tokens.push_back(fetched.token);
  }
  const auto fork = session.fork();
  for (const Token token : generate(*fork, 2)) tokens.push_back(token);
  AtomicFile file(model->options().system, path);
  fork->save([&file](std::span<const std::byte> part) { file.write(part); });
  file.commit();
  Session restored(engine, SessionOptions{128});
  restored.restore(*ByteSource::from_path(path, model->options().system));
  for (const Token token : generate(restored, 2)) tokens.push_back(token);
  return tokens;
}

/// The answer, or empty if memory or a file was refused.
std::vector<Token> answer_or_nothing(const std::shared_ptr<const Model>& model,
                                     const std::string& path) {
  try {
    return answer(model, path);
  } catch (const std::bad_alloc&) {
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == Code::NoMemory || error.code() == Code::Io) << error.what();
  }
  return {};
}

TEST(RefusedMemory, OfOperatorNewIsAnErrorAndLeavesNothing) {
  ModelOptions options;
  options.threads = 1;
  const auto model = load_tiny({}, std::move(options));
  const TempFolder folder;
  const std::string path = folder.path("session");
  const std::vector<Token> expected = answer(model, path);
  for (int64_t granted = 0;; ++granted) {
    const int64_t held = counted_new::num_held;
    bool all_granted = false;
    {
      counted_new::allocations_left = granted;
      const std::vector<Token> tokens = answer_or_nothing(model, path);
      all_granted = counted_new::allocations_left > 0;
      counted_new::allocations_left = -1;
      // A refusal is ignored if it costs nothing.
      EXPECT_TRUE(tokens.empty() || tokens == expected) << granted;
    }
    ASSERT_EQ(counted_new::num_held - held, 0) << granted;
    ASSERT_LT(granted, 5000);
    if (all_granted) break;
    if (granted % 16 != 0) continue;
    ASSERT_EQ(answer(model, path), expected) << granted;
  }
}

TEST(RefusedMemory, OfARequestWithGuessesLeavesTheTokensHandedOut) {
  ModelOptions model_options;
  model_options.threads = 1;
  const auto model = load_tiny({}, std::move(model_options));
  EngineOptions engine_options = unbounded_engine();
  engine_options.prefix_cache = true;
  engine_options.speculation = Speculation::Forced;
  std::vector<Token> text = make_tokens(30);
  {
    Session session(Engine::create(model, engine_options), SessionOptions{128});
    session.append(text);
    (void)generate(session, 60);
    text.assign(session.tokens().begin(), session.tokens().end());
  }
  for (int64_t granted = 0;; ++granted) {
    const auto engine = Engine::create(model, engine_options);
    Session session(engine, SessionOptions{128});
    session.append(std::span(text).first(30));
    GenerationOptions limits;
    limits.max_tokens = 40;
    limits.ends.ignore_end = true;
    limits.prediction = std::span<const Token>(text).subspan(30);
    const auto generation = session.submit(greedy_sampler(), limits);
    counted_new::allocations_left = granted;
    uint64_t num_tokens = 0;
    try {
      for (;;) {
        engine->wait(*generation, UINT64_MAX);
        const Engine::Fetched fetched = engine->fetch(*generation);
        if (fetched.ended) break;
        ++num_tokens;
      }
    } catch (const std::bad_alloc&) {
    }
    const bool all_granted = counted_new::allocations_left > 0;
    counted_new::allocations_left = -1;
    for (;;) {
      engine->wait(*generation, UINT64_MAX);
      if (engine->fetch(*generation).ended) break;
      ++num_tokens;
    }
    ASSERT_EQ(session.position(), 30 + num_tokens) << granted;
    (void)generate(session, 5);
    ASSERT_TRUE(std::equal(session.tokens().begin(), session.tokens().end(), text.begin()))
        << granted;
    ASSERT_LT(granted, 5000);
    if (all_granted) break;
  }
}

TEST(RefusedMemory, OfTheSystemIsAnErrorAndTheNextRequestIsFine) {
  const auto load = [](const std::shared_ptr<FaultySystem>& system) {
    ModelOptions options;
    options.threads = 1;
    options.system = system;
    return load_tiny({}, std::move(options));
  };
  const TempFolder folder;
  const std::string path = folder.path("session");
  auto system = std::make_shared<FaultySystem>();
  auto model = load(system);
  const uint64_t first = system->num_calls();
  const std::vector<Token> expected = answer(model, path);
  const uint64_t last = system->num_calls();
  ASSERT_GT(last, first);
  for (uint64_t n = first; n < last; ++n) {
    system = std::make_shared<FaultySystem>(n);
    model = load(system);
    const std::vector<Token> tokens = answer_or_nothing(model, path);
    EXPECT_TRUE(system->failed());
    EXPECT_TRUE(tokens.empty() || tokens == expected) << n;
    EXPECT_EQ(answer(model, path), expected) << n;
    model.reset();
    EXPECT_TRUE(system->all_released()) << n;
  }
}

/// A pick beside a step under way may find no memory: the prompt's request must not end before its
/// step does.
TEST(RefusedMemory, BesideAStepUnderWayIsAnErrorAfterIt) {
  const auto model = load_delayed({}, {.slice = 8});
  const std::vector<Token> text = make_tokens(60);
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  Session alone(Engine::create(model, options), SessionOptions{128});
  alone.append(text);
  const std::vector<float> expected(alone.logits().begin(), alone.logits().end());
  for (int64_t granted = 0;; ++granted) {
    const auto engine = Engine::create(model, options);
    Session session(engine, SessionOptions{128});
    session.append(text);
    counted_new::allocations_left = granted;
    try {
      session.prefill();
    } catch (const std::bad_alloc&) {
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::NoMemory) << error.what();
    }
    const bool all_granted = counted_new::allocations_left > 0;
    counted_new::allocations_left = -1;
    EXPECT_EQ(engine->metrics().running, 0u) << granted;
    ASSERT_TRUE(same_bits(session.logits(), expected)) << granted;
    ASSERT_LT(granted, 5000);
    if (all_granted) break;
  }
}

}  // namespace
}  // namespace tenon
