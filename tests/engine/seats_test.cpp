// Seats between clients: a request that gives up its seat later continues with the same bits.
#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/answers.h"
#include "tests/engine/delayed_model.h"

namespace tenon::seats {
namespace {

constexpr uint64_t kLong = 60;

GenerationOptions of_client(const char* client, uint64_t max_tokens) {
  GenerationOptions options = limits(max_tokens);
  options.client = client;
  options.logprobs.of_drawn = true;
  return options;
}

struct Asked {
  std::unique_ptr<Session> session;
  std::shared_ptr<Generation> generation;
};

Asked ask(const std::shared_ptr<Engine>& engine, uint32_t seed, const GenerationOptions& options) {
  Asked asked{std::make_unique<Session>(engine), nullptr};
  asked.session->append(make_tokens(20 + seed % 30, seed));
  asked.generation = asked.session->submit(greedy_sampler(), options);
  return asked;
}

void expect_same_bits_beside_others(const std::shared_ptr<const Model>& model) {
  EngineOptions two = unbounded_engine();
  two.max_running = 4;
  // Prompts go in one slice on any machine: with slices of four tokens, the long requests would end
  // meanwhile.
  two.decode_stretch = 1000;
  two.speculation = Speculation::Off;  // a token per step
  const auto engine = Engine::create(model, two);
  std::vector<Asked> many;
  for (uint32_t i = 0; i < 10; ++i) many.push_back(ask(engine, i + 1, of_client("many", kLong)));
  for (int i = 0; i < 6; ++i) (void)engine->step();
  ASSERT_EQ(engine->metrics().running, 4u);
  for (uint32_t round = 0; round < 5; ++round) {
    const Asked small = ask(engine, 100 + round, of_client("small", 3));
    (void)whole_answer(*engine, *small.generation);
    const EngineMetrics metrics = engine->metrics();
    EXPECT_EQ(metrics.finished_total, round + 1) << "none of the long ones has ended before it";
    EXPECT_GE(metrics.preempted_total, round + 1);
  }
  for (uint32_t i = 0; i < 10; ++i) {
    const auto own = Engine::create(model);
    const Asked alone = ask(own, i + 1, of_client("", kLong));
    EXPECT_EQ(whole_answer(*engine, *many[i].generation), whole_answer(*own, *alone.generation))
        << i;
  }
}

TEST(Seats, GoRoundWithTheSameBits) { expect_same_bits_beside_others(load_tiny()); }

TEST(Seats, GoRoundWithStepsUnderWay) { expect_same_bits_beside_others(load_delayed({}, {})); }

}  // namespace
}  // namespace tenon::seats
