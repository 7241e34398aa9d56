// Small models of architectures with windows, latent rows, states and mixtures: in every situation,
// a session's logits have the bits of one whole step.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/placed_executable.h"
#include "tests/engine/random_tiny.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

/// An architecture and the devices that share its layers; empty: one device.
struct KindsCase {
  std::string architecture;
  std::string devices{};
};

class Kinds : public testing::TestWithParam<KindsCase> {
 protected:
  void SetUp() override {
    const auto& [architecture, devices] = GetParam();
    if (devices.empty()) {
      whole_ = load_random_tiny(architecture, 256);
      sliced_ = load_random_tiny(architecture, 16);
    } else {
      ModelOptions one;
      one.backend = "cpu";
      whole_ = load_random_placed(architecture, 256, std::move(one));
      ModelOptions cut;
      cut.devices = devices;
      sliced_ = load_random_placed(architecture, 16, std::move(cut));
      ASSERT_EQ(sliced_->executable().devices().size(), 2u);
    }
    EngineOptions options = unbounded_engine();
    options.state_checkpoint_tokens = 64;
    engine_ = Engine::create(sliced_, options);
  }
  std::vector<float> last_of(std::span<const Token> text) const {
    Session session(Engine::create(whole_));
    session.append(text);
    return last_logits(session);
  }
  std::unique_ptr<Session> over(const std::shared_ptr<Engine>& engine,
                                std::span<const Token> text) const {
    auto session = std::make_unique<Session>(engine, SessionOptions{256});
    session->append(text);
    session->prefill();
    return session;
  }
  static std::vector<Token> joined(std::span<const Token> begin, std::span<const Token> end) {
    std::vector<Token> text(begin.begin(), begin.end());
    text.insert(text.end(), end.begin(), end.end());
    return text;
  }

  std::shared_ptr<const Model> whole_;
  std::shared_ptr<const Model> sliced_;
  std::shared_ptr<Engine> engine_;
  const std::vector<Token> text_ = make_tokens(150);
};

TEST_P(Kinds, SlicesChangeNoBit) {
  Session whole(Engine::create(whole_));
  Session sliced(engine_);
  EXPECT_TRUE(same_bits(evaluate_all(sliced, text_), evaluate_all(whole, text_)));
  Session one(engine_);  // token by token after the first
  one.append(std::span(text_).first(1));
  for (size_t i = 1; i < 40; ++i) {
    one.prefill();
    one.append(std::span(text_).subspan(i, 1));
  }
  EXPECT_TRUE(same_bits(last_logits(one), last_of(std::span(text_).first(40))));
}

TEST_P(Kinds, RewindsChangeNoBit) {
  const std::vector<Token> more = make_tokens(9, 5);
  for (const uint32_t left : {149u, 129u, 128u, 127u, 70u, 1u, 0u}) {
    const auto session = over(engine_, text_);
    session->rewind(left);
    session->append(more);
    EXPECT_TRUE(
        same_bits(last_logits(*session), last_of(joined(std::span(text_).first(left), more))))
        << left;
    const uint64_t computed = session->stats().prefill_tokens - 150;
    EXPECT_LE(computed, left >= 128 ? left - 128 + 9 : left + 9) << "from the prompt's last block";
  }
}

TEST_P(Kinds, ForksChangeNoBit) {
  const auto session = over(engine_, text_);
  const auto fork = session->fork();
  const std::vector<Token> one = make_tokens(40, 7);
  const std::vector<Token> other = make_tokens(40, 8);
  session->append(one);
  fork->append(other);
  EXPECT_TRUE(same_bits(last_logits(*session), last_of(joined(text_, one))));
  const auto again = fork->fork();
  EXPECT_TRUE(same_bits(last_logits(*fork), last_of(joined(text_, other))));
  EXPECT_TRUE(same_bits(last_logits(*again), last_of(joined(text_, other))));
}

TEST_P(Kinds, ScoresAreTheBitsOfTeacherForcing) {
  const auto session = over(engine_, text_);
  // Texts that cross a block and a slice, two with a common beginning, and a single token.
  std::vector<std::vector<Token>> texts = {make_tokens(40, 3), make_tokens(1, 4),
                                           make_tokens(6, 5)};
  texts.push_back(joined(std::span(texts[2]).first(3), make_tokens(5, 6)));
  std::vector<std::vector<float>> scores;
  std::vector<Continuation> asked;
  for (const std::vector<Token>& text : texts) scores.emplace_back(text.size());
  for (size_t i = 0; i < texts.size(); ++i) asked.push_back({texts[i], scores[i].data()});
  session->score(asked);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_TRUE(same_bits(scores[i], forced_logprobs(whole_, text_, texts[i]))) << i;
  }
  EXPECT_TRUE(same_bits(last_logits(*session), last_of(text_)));
}

TEST_P(Kinds, SnapshotsChangeNoBit) {
  const auto session = over(engine_, text_);
  generate(*session, 3);
  std::vector<std::byte> saved;
  session->save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  EXPECT_EQ(saved.size(), session->snapshot_bytes());
  Session restored(Engine::create(sliced_), SessionOptions{256});
  restored.restore(*ByteSource::from_memory(saved, "snapshot"));
  EXPECT_TRUE(same_bits(last_logits(restored), last_logits(*session)));
  EXPECT_LE(restored.stats().prefill_tokens, 153u - 128u);
  EXPECT_EQ(generate(restored, 8), generate(*session, 8));
  for (const size_t cut : {size_t{1}, saved.size() / 3, saved.size() - 200}) {
    EXPECT_THROW(restored.restore(*ByteSource::from_memory(
                     std::span(saved).first(saved.size() - cut), "snapshot")),
                 Error);
  }
}

TEST_P(Kinds, SharedBeginningsChangeNoBit) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  options.state_checkpoint_tokens = 64;
  const auto engine = Engine::create(sliced_, options);
  over(engine, text_);
  for (const uint32_t shared : {150u, 130u, 100u}) {
    const std::vector<Token> text = joined(std::span(text_).first(shared), make_tokens(20, shared));
    const auto session = over(engine, text);
    EXPECT_TRUE(same_bits(last_logits(*session), last_of(text))) << shared;
    EXPECT_LE(session->stats().prefill_tokens, text.size() - (shared >= 128 ? 128 : 64)) << shared;
  }
}

TEST_P(Kinds, IdleSessionsGiveWayAndGoOn) {
  uint64_t slab = 0;
  for (const auto& pool : engine_->pools()) slab = std::max(slab, pool->block_bytes());
  EngineOptions narrow = unbounded_engine();
  narrow.cache_bytes = slab * (6 * engine_->pools().size() + 2);
  const auto engine = Engine::create(sliced_, narrow);
  // More sessions than fit, however small some groups' blocks; a cut makes more groups.
  const uint32_t num_sessions = GetParam().devices.empty() ? 9 : 18;
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint32_t i = 0; i < num_sessions; ++i) sessions.push_back(over(engine, make_tokens(140, i)));
  for (uint32_t i = 0; i < num_sessions; ++i) {
    EXPECT_TRUE(same_bits(last_logits(*sessions[i]), last_of(make_tokens(140, i)))) << i;
    EXPECT_EQ(generate(*sessions[i], 5),
              generate(*over(Engine::create(whole_), make_tokens(140, i)), 5));
    EXPECT_LE(engine->metrics().kv_held_bytes, narrow.cache_bytes);
  }
  EXPECT_GT(engine->metrics().idle_blocks_taken_total, 0u);
  sessions.clear();
  const auto pools = engine->pools();
  uint64_t kept_bytes = 0;  // a slab per device
  for (PoolRange device{0, 0}; device.end < pools.size();) {
    device = pools_of_device(pools, device.end);
    kept_bytes += pools[device.first]->slab_pool()->slab_bytes();
  }
  EXPECT_EQ(engine->metrics().kv_held_bytes, kept_bytes);
}

TEST_P(Kinds, TakeWhatIsForetold) {
  constexpr uint32_t kContext = 256;
  const std::vector<BlockPoolOptions> groups =
      cache_groups(sliced_->program(), sliced_->executable());
  const TextSizes sizes{kContext, 16, 1};
  const auto most_used = [&](const std::shared_ptr<Engine>& engine) {
    std::vector<uint64_t> most(groups.size());
    Session session(engine, SessionOptions{kContext});
    while (session.position() < kContext) {  // up to 11 at a time: no two slices are alike
      const uint64_t left = kContext - session.position();
      session.append(make_tokens(static_cast<uint32_t>(std::min<uint64_t>(left, 11)), 3));
      session.prefill();
      for (size_t group = 0; group < groups.size(); ++group) {
        most[group] = std::max(most[group], engine->pools()[group]->num_used());
      }
    }
    return most;
  };
  const std::vector<uint64_t> most = most_used(Engine::create(sliced_));
  for (size_t group = 0; group < groups.size(); ++group) {
    BlockPoolOptions info = groups[group];
    const uint64_t said = most_held_blocks(info, sizes);
    EXPECT_GE(said, most[group]) << group;
    EXPECT_LE(said, most[group] + (info.window > 0 ? 1 : 0)) << group;
  }
  EngineOptions narrow = unbounded_engine();
  narrow.cache_bytes = sliced_->memory(kContext).kv_bytes;
  const auto engine = Engine::create(sliced_, narrow);
  EXPECT_EQ(most_used(engine), most) << "nothing had to be given up";
  EXPECT_EQ(engine->metrics().idle_blocks_taken_total, 0u);
}

std::vector<KindsCase> kinds_on(const std::string& devices) {
  std::vector<KindsCase> cases;
  for (const char* architecture :
       {"gemma3",    "gemma4",     "deepseek2",  "deepseek32", "deepseek4", "deepseek41",
        "glm5next",  "minimax-m3", "mamba",      "nemotron_h", "qwen3next", "kimi-linear",
        "falcon-h1", "rwkv6",      "rwkv6qwen2", "rwkv7",      "arwkv7",    "plamo2",
        "lfm2",      "llama4",     "gpt-oss",    "qwen4exp",   "kimi-k3"}) {
    // Layers that share a cache stay together: the last three of gemma4, pairs in deepseek41.
    const std::string_view name = architecture;
    const char* own = name == "gemma4" ? "cpu=3,cpu" : name == "deepseek41" ? "cpu=2,cpu" : nullptr;
    cases.push_back({architecture, !devices.empty() && own != nullptr ? own : devices});
  }
  return cases;
}

std::string name_of_case(const testing::TestParamInfo<KindsCase>& of) {
  std::string name = of.param.architecture;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Of, Kinds, testing::ValuesIn(kinds_on("")), name_of_case);
INSTANTIATE_TEST_SUITE_P(CutInTwo, Kinds, testing::ValuesIn(kinds_on("cpu=1,cpu")), name_of_case);

}  // namespace
}  // namespace tenon
