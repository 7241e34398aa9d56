// Shares of clients and texts in an engine: tokens by weight, common prefixes in memory.
#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

std::shared_ptr<const Model> load_small() {
  TinyModel tiny;
  tiny.layers = 1;
  tiny.width = 32;
  tiny.heads = 1;
  tiny.key_dim = tiny.value_dim = 16;
  tiny.feed_forward = 32;
  tiny.context = 2048;
  tiny.formats = {Format::F32};
  return load_tiny(tiny);
}

struct Asked {
  std::unique_ptr<Session> session;
  std::shared_ptr<Generation> generation;
};

Asked ask(const std::shared_ptr<Engine>& engine, std::span<const Token> prompt,
          const GenerationOptions& options) {
  Asked asked{std::make_unique<Session>(engine, SessionOptions{2048}), nullptr};
  asked.session->append(prompt);
  asked.generation = asked.session->submit(greedy_sampler(), options);
  return asked;
}

TEST(Share, OfTwoSaturatingClientsFollowsTheirWeights) {
  EngineOptions few = unbounded_engine();
  few.max_running = 4;
  const auto engine = Engine::create(load_small(), few);
  std::array<std::deque<Asked>, 2> clients;
  std::array<uint64_t, 2> tokens{};
  uint32_t seed = 0;
  for (uint64_t step = 0; step < 1200; ++step) {
    for (size_t client = 0; client < 2; ++client) {
      GenerationOptions options = limits(3 + seed % 9);
      options.client = client == 0 ? "three" : "one";
      options.weight = client == 0 ? 3 : 1;
      auto& asked = clients[client];
      while (asked.size() < 8) {
        asked.push_back(ask(engine, make_tokens(5 + seed % 12, seed), options));
        ++seed;
      }
    }
    engine->step();
    for (size_t client = 0; client < 2; ++client) {
      std::erase_if(clients[client], [&](const Asked& asked) {
        if (!asked.generation->ended) return false;
        tokens[client] += asked.session->position();
        return true;
      });
    }
  }
  const double ratio = static_cast<double>(tokens[0]) / static_cast<double>(tokens[1]);
  EXPECT_NEAR(ratio, 3.0, 0.15) << tokens[0] << " and " << tokens[1];
  RecordProperty("ratio_percent", static_cast<int>(100 * ratio));
}

TEST(Share, OfAPrefixIsComputedAndKeptOnce) {
  EngineOptions sharing = unbounded_engine();
  sharing.prefix_cache = true;
  const auto engine = Engine::create(load_small(), sharing);
  std::vector<Token> prompt = make_tokens(1008);
  std::vector<Asked> all;
  for (uint32_t i = 0; i < 64; ++i) {
    const std::vector<Token> own = make_tokens(8, 1 + i);
    std::copy(own.begin(), own.end(), prompt.end() - 8);
    all.push_back(ask(engine, prompt, limits(2)));
  }
  while (engine->step()) {
  }
  const EngineMetrics metrics = engine->metrics();
  // 31 full blocks once; per session 8 prefix tokens, 8 own tokens and a drawn token.
  EXPECT_EQ(metrics.prompt_tokens_total + metrics.decode_tokens_total, 31u * 32 + 64 * 17);
  EXPECT_EQ(metrics.kv_used_bytes, (31 + 64) * engine->pools()[0]->block_bytes());
  EXPECT_EQ(metrics.finished_total, 64u);
}

}  // namespace
}  // namespace tenon
