// No memory is allocated for a token while text is generated: this program counts operator new.
#include <gtest/gtest.h>

#include "tests/base/counted_new.h"
#include "tests/base/faulty_system.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using counted_new::num_allocations;

TEST(TokenPath, AllocatesNothing) {
  const auto system = std::make_shared<FaultySystem>();
  ModelOptions options;
  options.system = system;
  Session session(tiny_engine({}, std::move(options)), SessionOptions{256});
  Sampler sampler;
  sampler.set("temperature", 0.7);
  sampler.set("top_k", int64_t{20});
  sampler.set("repeat_penalty", 1.1);
  session.append(make_tokens(20));
  // The first tokens make the sampler's room and the slab.
  session.next(sampler);
  session.next(sampler);
  const uint64_t before = num_allocations;
  const uint64_t calls_before = system->num_calls();
  for (int i = 0; i < 100; ++i) session.next(sampler);  // through several blocks
  EXPECT_EQ(num_allocations - before, 0u);
  EXPECT_EQ(system->num_calls() - calls_before, 0u);
  EXPECT_GT(before, 0u) << "the counter counts";
}

}  // namespace
}  // namespace tenon
