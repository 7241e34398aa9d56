#include <gtest/gtest.h>
#include <tenon/tenon.h>

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "handles.h"

namespace {

using namespace tenon_test;

tenon_token sample(const SamplerPtr& sampler, const std::vector<float>& logits,
                   uint64_t position = 0) {
  tenon_token token = TENON_NO_TOKEN;
  EXPECT_OK(tenon_sampler_sample(sampler.get(), logits.data(), logits.size(), nullptr, 0, position,
                                 &token));
  return token;
}

TEST(CSampler, OptionsAreTaken) {
  const std::vector<float> logits{0, 3, 2, 1};
  EXPECT_EQ(sample(make_greedy(), logits), 1);
  const OptionsPtr options = make_options();
  ASSERT_OK(tenon_options_set_int(options.get(), "top_k", 2));
  ASSERT_OK(tenon_options_set_float(options.get(), "temperature", 10));
  ASSERT_OK(tenon_options_set_float(options.get(), "min_p", 0));
  // Keys of other scopes do not disturb.
  ASSERT_OK(tenon_options_set_int(options.get(), "threads", 1));
  tenon_sampler* raw = nullptr;
  ASSERT_OK(tenon_sampler_create(options.get(), &raw));
  const SamplerPtr sampler(raw);
  std::set<tenon_token> drawn;
  for (uint64_t i = 0; i < 200; ++i) drawn.insert(sample(sampler, logits, i));
  EXPECT_EQ(drawn, (std::set<tenon_token>{1, 2}));
}

TEST(CSampler, TheSeedDecides) {
  const std::vector<float> logits(50, 1.0f);
  const auto draws = [&](int64_t seed) {
    const OptionsPtr options = make_options();
    EXPECT_OK(tenon_options_set_int(options.get(), "seed", seed));
    EXPECT_OK(tenon_options_set_float(options.get(), "temperature", 1));
    tenon_sampler* raw = nullptr;
    EXPECT_OK(tenon_sampler_create(options.get(), &raw));
    const SamplerPtr sampler(raw);
    std::vector<tenon_token> result;
    for (uint64_t i = 0; i < 20; ++i) result.push_back(sample(sampler, logits, i));
    return result;
  };
  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(CSampler, BiasForbidsAndIsTakenBack) {
  const std::vector<float> logits{0, 3, 2, 1};
  const SamplerPtr greedy = make_greedy();
  ASSERT_OK(tenon_sampler_set_bias(greedy.get(), 1, -INFINITY));
  EXPECT_EQ(sample(greedy, logits), 2);
  ASSERT_OK(tenon_sampler_set_bias(greedy.get(), 0, 100));
  EXPECT_EQ(sample(greedy, logits), 0);
  ASSERT_OK(tenon_sampler_set_bias(greedy.get(), 0, 0));
  ASSERT_OK(tenon_sampler_set_bias(greedy.get(), 1, 0));
  EXPECT_EQ(sample(greedy, logits), 1);
}

TEST(CSampler, ResetGoesBackToItsOptions) {
  const std::vector<float> logits{0, 3, 2, 1};
  const SamplerPtr greedy = make_greedy();
  ASSERT_OK(tenon_sampler_set_float(greedy.get(), "temperature", 5));
  ASSERT_OK(tenon_sampler_set_int(greedy.get(), "seed", 5));
  ASSERT_OK(tenon_sampler_set_bias(greedy.get(), 1, -INFINITY));
  ASSERT_OK(tenon_sampler_reset(greedy.get()));
  for (uint64_t i = 0; i < 20; ++i) EXPECT_EQ(sample(greedy, logits, i), 1);
}

TEST(CSampler, BadValuesAreRefused) {
  const SamplerPtr s = make_greedy();
  expect_failure(tenon_sampler_set_float(s.get(), "temperature", NAN), TENON_ERROR_ARGUMENT,
                 "temperature");
  expect_failure(tenon_sampler_set_int(s.get(), "top_k", -1), TENON_ERROR_ARGUMENT, "top_k");
  expect_failure(tenon_sampler_set_int(s.get(), "tpo_k", 1), TENON_ERROR_ARGUMENT, "\"top_k\"");
  expect_failure(tenon_sampler_set_bias(s.get(), -1, 1), TENON_ERROR_ARGUMENT, "token -1");
  expect_failure(tenon_sampler_set_bias(s.get(), 1, NAN), TENON_ERROR_ARGUMENT, "logit_bias");
  expect_failure(tenon_sampler_set_bias(s.get(), 1, 1e38), TENON_ERROR_ARGUMENT, "logit_bias");
}

TEST(CSampler, BadLogitsAreRefused) {
  const SamplerPtr s = make_greedy();
  const auto refuse = [&](const std::vector<float>& logits, tenon_status status, const char* text) {
    tenon_token token = 77;
    expect_failure(
        tenon_sampler_sample(s.get(), logits.data(), logits.size(), nullptr, 0, 0, &token), status,
        text);
    EXPECT_EQ(token, 77);
  };
  refuse({1, NAN, 2}, TENON_ERROR_STATE, "non-finite");
  refuse({-INFINITY, -INFINITY}, TENON_ERROR_STATE, "masked");
  tenon_token token = 77;
  EXPECT_NE(tenon_sampler_sample(s.get(), nullptr, 0, nullptr, 0, 0, &token), TENON_OK);
  expect_failure(tenon_sampler_sample(s.get(), nullptr, 4, nullptr, 0, 0, &token),
                 TENON_ERROR_ARGUMENT, "logits is NULL");
  ASSERT_OK(tenon_sampler_set_bias(s.get(), 5, 1));
  refuse({1, 2}, TENON_ERROR_ARGUMENT, "5");
}

TEST(CSampler, TiesGoToTheLowerId) { EXPECT_EQ(sample(make_greedy(), {1, 2, 2, 2}), 1); }

}  // namespace
