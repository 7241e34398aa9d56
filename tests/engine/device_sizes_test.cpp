// Models on a device that prefers other step and block sizes than the defaults.
#include <gtest/gtest.h>

#include <vector>

#include "model/program_facts.h"
#include "tests/engine/delayed_model.h"

namespace tenon {
namespace {

std::shared_ptr<const Model> load_on(uint32_t step_tokens, uint32_t block_tokens, uint32_t slice) {
  ModelOptions options = on_delayed({.slice = slice});
  options.backend_options.emplace_back("step_tokens", std::to_string(step_tokens));
  options.backend_options.emplace_back("block_tokens", std::to_string(block_tokens));
  return load_tiny({}, std::move(options));
}

std::vector<float> logits_of(const std::shared_ptr<const Model>& model) {
  Session session(Engine::create(model));
  return evaluate_all(session, make_tokens(100));
}

TEST(DeviceSizes, AreThoseOfTheProgram) {
  const auto model = load_on(48, 8, 0);
  EXPECT_EQ(model->program().view().max_tokens, 48u);
  ASSERT_FALSE(model->program().groups().empty());
  for (const tenon_cache_group& group : model->program().groups()) {
    EXPECT_EQ(group.block_tokens, 8u);
  }
  const auto usual = load_on(StepSizes{}.step_tokens, StepSizes{}.block_tokens, 0);
  EXPECT_EQ(usual->program().view().max_tokens, StepSizes{}.step_tokens);
  EXPECT_EQ(logits_of(model), logits_of(usual));
}

TEST(DeviceSizes, OfAStepGiveWayToTheOption) {
  const auto model = load_on(48, 64, 20);
  EXPECT_EQ(model->program().view().max_tokens, 20u);
  EXPECT_EQ(model->program().groups()[0].block_tokens, 64u);
}

}  // namespace
}  // namespace tenon
