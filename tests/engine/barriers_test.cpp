// Barriers of a step, counted by the calls of a host's executor: one per barrier.
#include <gtest/gtest.h>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

/// Calls of the executor for a step of `tokens` tokens of a model of `layers` layers.
uint32_t barriers(TinyModel tiny, uint32_t layers, uint32_t tokens) {
  uint32_t calls = 0;
  ModelOptions options;
  options.executor =
      Executor{&calls, 2, [](void* user, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
                 ++*static_cast<uint32_t*>(user);
                 for (uint32_t i = 0; i < n; ++i) task(arg, i);
               }};
  tiny.layers = layers;
  Session session(tiny_engine(tiny, std::move(options)));
  session.append(make_tokens(tokens));
  calls = 0;
  session.prefill();
  EXPECT_EQ(session.stats().prefill_tokens, tokens);
  return calls;
}

/// Like real models: matrices of one format, two query heads per KV head.
TinyModel plain() {
  TinyModel tiny;
  tiny.formats = {Format::Q8_0};
  tiny.width = 128;
  tiny.heads = 4;
  tiny.kv_heads = 2;
  tiny.feed_forward = 256;
  return tiny;
}

uint32_t barriers_per_layer(const TinyModel& tiny, uint32_t tokens) {
  return (barriers(tiny, 6, tokens) - barriers(tiny, 2, tokens)) / 4;
}

TEST(Barriers, AreFivePerLayerUnlessThereAreRowsToDivide) {
  EXPECT_EQ(barriers_per_layer(plain(), 1), 5u);
  EXPECT_EQ(barriers_per_layer(plain(), 8), 5u);
  EXPECT_EQ(barriers_per_layer(plain(), 9), 7u);
}

TEST(Barriers, OfExpertsAreTwoMoreThanOfOneFeedForward) {
  TinyModel experts = plain();
  experts.architecture = "qwen3moe";
  experts.feed_forward = 64;
  experts.experts = 5;
  experts.experts_used = 2;
  EXPECT_EQ(barriers_per_layer(experts, 1), 7u);
}

TEST(Barriers, OfAModelAreNoMoreThanThoseOfItsLayersAndItsHead) {
  EXPECT_EQ(barriers(plain(), 3, 1), 3 * 5 + 1u);
}

}  // namespace
}  // namespace tenon
