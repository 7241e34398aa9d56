// Batch invariance: a request gives the same bits in any batch as alone. Random requests over
// random engines, with neighbours, slices, preemption, shared prefixes, forks, cancels and several
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <thread>

#include "tests/base/processor_time.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"
#include "tests/engine/tiny_kinds.h"

namespace tenon {
namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint32_t below(uint32_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

/// A request; its answer depends on these fields only.
struct Question {
  uint32_t family = 0;  // requests of a family share prefixes
  uint32_t shared = 0;
  uint32_t own = 0;
  uint32_t count = 0;
  uint32_t seed = 0;
  auto operator<=>(const Question&) const = default;

  [[nodiscard]] std::vector<Token> prompt() const {
    std::vector<Token> tokens = make_tokens(150, 1000 + family);
    tokens.resize(shared);
    const std::vector<Token> rest = make_tokens(own, 1 + seed);
    tokens.insert(tokens.end(), rest.begin(), rest.end());
    return tokens;
  }
  [[nodiscard]] Sampler sampler() const {
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    sampler.set("temperature", seed % 3 == 0 ? 0.0 : 0.8);
    sampler.set("seed", int64_t{seed});
    return sampler;
  }
};

struct Answer {
  std::vector<Token> tokens;
  std::vector<float> logits;  // after the last token
};

constexpr uint32_t kContext = 256;

class BatchInvariance : public testing::Test {
 protected:
  static TinyModel full() {
    TinyModel tiny;
    tiny.layers = 2;
    tiny.width = 32;
    tiny.heads = 2;
    tiny.key_dim = tiny.value_dim = 16;
    tiny.feed_forward = 64;
    tiny.formats = {Format::Q8_0, Format::F32, Format::Q4_0};
    return tiny;
  }
  const std::shared_ptr<const Model>& model(uint32_t threads) {
    auto& found = models_[threads];
    if (found == nullptr) {
      ModelOptions options = delayed_ ? on_delayed({.steps = 2}) : ModelOptions();
      options.threads = threads;
      options.slice = 64;
      found = architecture_.empty() ? load_tiny(tiny_, std::move(options))
                                    : load_random_tiny(architecture_, 64, threads);
    }
    return found;
  }

  const Answer& alone(const Question& question) {
    const auto at = alone_.find(question);
    if (at != alone_.end()) return at->second;
    if (plain_ == nullptr) plain_ = Engine::create(model(1));
    Session session(plain_, SessionOptions{kContext});
    session.append(question.prompt());
    Sampler sampler = question.sampler();
    Answer answer;
    while (answer.tokens.size() < question.count) answer.tokens.push_back(session.next(sampler));
    answer.logits = last_logits(session);
    return alone_[question] = std::move(answer);
  }

  static Question draw_question(Random& random) {
    Question question;
    question.family = random.below(3);
    question.shared = random.below(2) == 0 ? 0 : random.below(150);
    question.own = 1 + random.below(40);
    question.count = 1 + random.below(16);
    question.seed = random.below(1000);
    return question;
  }

  EngineOptions draw_options(Random& random) {
    EngineOptions options = unbounded_engine();
    const auto engine = Engine::create(model(1));
    uint64_t block = 0;
    for (const auto& pool : engine->pools()) block = std::max(block, pool->block_bytes());
    uint64_t least = 0;  // slabs of the largest block that a request needs
    for (const auto& pool : engine->pools()) {
      const uint64_t blocks = pool->options().kind == TENON_CACHE_STATE ? 2 : 7;
      const uint64_t in_slab = block / pool->block_bytes();
      least += (blocks + in_slab - 1) / in_slab;
    }
    options.step_tokens = 1 + random.below(64);
    options.max_running = 1 + random.below(32);
    // Ranges from barely enough for one request to plenty.
    options.cache_bytes = block * (least + (random.below(3) == 0 ? 200 : random.below(8)));
    options.prefix_cache = random.below(4) != 0;
    options.decode_stretch = 1.1 + random.below(40);
    return options;
  }

  /// A host thread: keeps several requests running and checks each answer.
  void serve(const std::shared_ptr<Engine>& engine, std::span<const Question> questions,
             std::span<const Answer* const> expected, uint64_t seed) {
    struct Going {
      std::unique_ptr<Session> session;
      std::shared_ptr<Generation> generation;
      size_t index;
      std::vector<Token> tokens;
    };
    Random random(seed);
    std::vector<Going> going;
    size_t next = 0;
    while (next < questions.size() || !going.empty()) {
      while (next < questions.size() && going.size() < 6) {
        const Question& question = questions[next];
        Going started{nullptr, nullptr, next++, {}};
        SessionOptions of_session{kContext};
        of_session.salt = random.below(8) == 0 ? "other" : "";
        started.session = std::make_unique<Session>(engine, of_session);
        started.session->append(question.prompt());
        if (random.below(8) == 0) {  // forks a queued text
          started.session = started.session->fork();
        }
        GenerationOptions options;
        options.max_tokens = question.count;
        options.priority = static_cast<int32_t>(random.below(3));
        options.client = random.below(2) == 0 ? "a" : "b";
        options.weight = 1 + random.below(3);
        options.ends.ignore_end = true;
        started.generation = started.session->submit(question.sampler(), options);
        if (random.below(12) == 0) {  // gives up and asks again
          if (random.below(2) == 0) engine->step();
          engine->cancel(*started.generation);
          while (!engine->fetch(*started.generation).ended) {
            engine->wait(*started.generation, 1'000'000);
          }
          started.session->rewind(question.prompt().size());
          started.generation = started.session->submit(question.sampler(), options);
        }
        going.push_back(std::move(started));
      }
      const size_t at = random.below(static_cast<uint32_t>(going.size()));
      Going& one = going[at];
      engine->wait(*one.generation, UINT64_MAX);
      const Engine::Fetched fetched = engine->fetch(*one.generation);
      if (fetched.has_token) one.tokens.push_back(fetched.token);
      if (!fetched.ended) continue;
      const Answer& answer = *expected[one.index];
      // Each request fits the budget alone, so none may fail.
      if (fetched.failure) {
        ASSERT_NO_THROW(std::rethrow_exception(fetched.failure)) << "request " << one.index;
      }
      ASSERT_EQ(one.tokens, answer.tokens) << "request " << one.index;
      if (random.below(4) == 0) {
        ASSERT_TRUE(same_bits(one.session->logits(), answer.logits)) << one.index;
        ++num_compared_;
      }
      going.erase(going.begin() + static_cast<ptrdiff_t>(at));
    }
  }

  void run(uint32_t rounds, uint32_t requests, uint64_t seed) {
    Random random(seed);
    uint64_t preempted = 0;
    uint64_t taken = 0;
    uint64_t reused = 0;
    uint64_t stopped = 0;
    if (kSanitized) rounds = (rounds + 3) / 4;
    for (uint32_t round = 0; round < rounds && !HasFatalFailure(); ++round) {
      SCOPED_TRACE(testing::Message() << "round " << round);
      const uint32_t num_threads = 1 + random.below(3);
      const auto engine = Engine::create(model(1 + random.below(4)), draw_options(random));
      std::vector<std::vector<Question>> questions(num_threads);
      std::vector<std::vector<const Answer*>> expected(num_threads);
      for (uint32_t i = 0; i < requests; ++i) {
        const Question question = draw_question(random);
        questions[i % num_threads].push_back(question);
        expected[i % num_threads].push_back(&alone(question));
      }
      std::vector<std::thread> threads;
      for (uint32_t i = 0; i < num_threads; ++i) {
        threads.emplace_back([&, i] { serve(engine, questions[i], expected[i], seed + i); });
      }
      for (std::thread& thread : threads) thread.join();
      const EngineMetrics metrics = engine->metrics();
      EXPECT_LE(metrics.kv_held_bytes, metrics.kv_limit_bytes);
      EXPECT_EQ(metrics.waiting + metrics.running, 0u);
      EXPECT_EQ(metrics.kv_used_bytes, metrics.kv_shared_bytes) << "only the index holds blocks";
      preempted += metrics.preempted_total;
      taken += metrics.idle_blocks_taken_total;
      reused += metrics.reused_tokens_total;
      stopped += metrics.steps_stopped_total;
    }
    if (kSanitized) return;  // slow requests rarely overlap
    // The test is void unless these happened.
    EXPECT_GT(preempted, 0u);
    EXPECT_GT(taken, 0u);
    // Prefixes with states are reused only at checkpoints, which these texts may not reach;
    // Kinds.SharedBeginningsChangeNoBit covers them.
    const auto is_state = [](const tenon_cache_group& group) {
      return group.kind == TENON_CACHE_STATE;
    };
    if (std::ranges::none_of(model(1)->program().groups(), is_state)) {
      EXPECT_GT(reused, 0u);
    }
    EXPECT_GT(num_compared_, rounds * requests / 20);
    RecordProperty("preempted", static_cast<int>(preempted));
    RecordProperty("idle_blocks_taken", static_cast<int>(taken));
    RecordProperty("reused_tokens", static_cast<int>(reused));
    RecordProperty("steps_stopped", static_cast<int>(stopped));
  }

  TinyModel tiny_ = full();
  bool delayed_ = false;      // runs on a device with two steps under way
  std::string architecture_;  // a small random model of this architecture, if set
  std::map<uint32_t, std::shared_ptr<const Model>> models_;
  std::shared_ptr<Engine> plain_;
  std::map<Question, Answer> alone_;
  std::atomic<uint64_t> num_compared_{0};
};

TEST_F(BatchInvariance, ChangesNoAnswer) { run(8, 40, 1); }

TEST_F(BatchInvariance, ChangesNoAnswerOfWindows) {
  tiny_ = tiny_window();
  run(8, 40, 2);
}

/// Sessions alone run one step at a time.
TEST_F(BatchInvariance, ChangesNoAnswerWithTwoStepsUnderWay) {
  delayed_ = true;
  run(6, 40, 4);
}

class BatchInvarianceOf : public BatchInvariance,
                          public testing::WithParamInterface<std::string> {};

TEST_P(BatchInvarianceOf, ChangesNoAnswer) {
  architecture_ = GetParam();
  run(4, 30, 3);
}

INSTANTIATE_TEST_SUITE_P(LatentRowsAndStates, BatchInvarianceOf,
                         testing::Values("deepseek2", "mamba", "minimax-m3", "qwen3next"));

/// test_engine --gtest_also_run_disabled_tests --gtest_filter='*TenThousand*'
TEST_F(BatchInvariance, DISABLED_ChangesNoneOfTenThousandAnswers) { run(100, 100, 77); }

}  // namespace
}  // namespace tenon
