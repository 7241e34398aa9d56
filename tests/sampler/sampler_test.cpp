// The sampler as a whole: refusals, greedy, determinism, memory.
#include "sampler/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/error.h"
#include "tests/base/counted_new.h"

namespace tenon {
namespace {

using counted_new::num_allocations;
using testing::HasSubstr;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::Ok, "no error");
}

/// A sampler with only the draw active, at temperature 1.
Sampler plain_sampler() {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 1.0);
  sampler.set("top_k", int64_t{0});
  sampler.set("top_p", 1.0);
  sampler.set("min_p", 0.0);
  return sampler;
}

/// Draws of each token at positions 0..n-1.
std::map<int32_t, int> histogram(Sampler& sampler, std::span<const float> logits, uint64_t n) {
  std::map<int32_t, int> counts;
  for (uint64_t position = 0; position < n; ++position) {
    ++counts[sampler.sample(logits, {}, position)];
  }
  return counts;
}

TEST(Sampler, RefusesEveryParameterOutsideItsRange) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  for_each_sampler_parameter([&sampler](const SamplerParameter& parameter) {
    SCOPED_TRACE(parameter.name);
    std::vector<double> refused = {kNan, kInf, -kInf, 1e38, -1e38};
    if (parameter.type == ParameterType::Real) {
      refused.push_back(std::nextafter(parameter.maximum.real, kInf));
      refused.push_back(std::nextafter(parameter.minimum.real, -kInf));
      sampler.set(parameter.name, parameter.minimum.real);
      sampler.set(parameter.name, parameter.maximum.real);
    } else {
      refused.push_back(0.5);
      const Error below =
          error_of([&] { sampler.set(parameter.name, int64_t{parameter.minimum.integer - 1}); });
      EXPECT_EQ(below.code(), Code::Argument) << below.what();
      sampler.set(parameter.name, parameter.minimum.integer);
      sampler.set(parameter.name, parameter.maximum.integer);
    }
    for (const double value : refused) {
      const Error error = error_of([&] { sampler.set(parameter.name, value); });
      EXPECT_EQ(error.code(), Code::Argument) << value;
      EXPECT_THAT(error.what(), HasSubstr(parameter.name));
      EXPECT_THAT(error.what(), HasSubstr(".."));
    }
  });
}

TEST(Sampler, RefusesTopKOfTwoToThe31) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  const Error error = error_of([&] { sampler.set("top_k", int64_t{1} << 31); });
  EXPECT_EQ(error.code(), Code::Argument);
  EXPECT_THAT(error.what(), HasSubstr("top_k is 2147483648, not in 0..2147483647"));
}

TEST(Sampler, NamesTheNearestParameter) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  const Error error = error_of([&] { sampler.set("temprature", 1.0); });
  EXPECT_EQ(error.code(), Code::Argument);
  EXPECT_THAT(error.what(), HasSubstr("\"temperature\""));
}

TEST(Sampler, KeepsItsValueWhenANewOneIsRefused) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("top_p", 0.25);
  EXPECT_THROW(sampler.set("top_p", 1.5), Error);
  EXPECT_EQ(sampler.values().real("top_p"), 0.25);
}

TEST(Sampler, ParametersHaveUniqueNamesDocsAndInitialValuesInRange) {
  std::map<std::string, int> seen;
  for_each_sampler_parameter([&seen](const SamplerParameter& parameter) {
    EXPECT_EQ(++seen[parameter.name], 1) << parameter.name;
    EXPECT_GT(std::string_view(parameter.doc).size(), 10u);
    Sampler sampler;
    sampler.set("seed", int64_t{0});
    if (parameter.type == ParameterType::Real) {
      sampler.set(parameter.name, parameter.initial.real);
    } else {
      sampler.set(parameter.name, parameter.initial.integer);
    }
  });
  EXPECT_EQ(find_sampler_parameter("no_such"), nullptr);
  EXPECT_NE(find_sampler_parameter("seed"), nullptr);
}

TEST(Sampler, RefusesNonFiniteLogits) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  for (const double temperature : {0.0, 1.0}) {
    sampler.set("temperature", temperature);
    for (const float bad : {kNan, kInf}) {
      const float logits[] = {1.0f, bad, 0.0f};
      const Error error = error_of([&] { sampler.sample(logits, {}, 0); });
      EXPECT_EQ(error.code(), Code::State);
      EXPECT_THAT(error.what(), HasSubstr("non-finite logits"));
    }
  }
  EXPECT_EQ(error_of([&] { sampler.sample({}, {}, 0); }).code(), Code::State);
}

TEST(Sampler, SaysWhenAllTokensAreMasked) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  const float masked[] = {-kInf, -kInf};
  const float open[] = {1.0f, 2.0f};
  for (const double temperature : {0.0, 1.0}) {
    sampler.set("temperature", temperature);
    EXPECT_THAT(error_of([&] { sampler.sample(masked, {}, 0); }).what(),
                HasSubstr("all tokens masked"));
    sampler.set_logit_bias(0, -kInf);
    sampler.set_logit_bias(1, -kInf);
    const Error error = error_of([&] { sampler.sample(open, {}, 0); });
    EXPECT_EQ(error.code(), Code::State);
    EXPECT_THAT(error.what(), HasSubstr("all tokens masked"));
    sampler.clear_logit_bias();
    EXPECT_NO_THROW(sampler.sample(open, {}, 0));
  }
}

TEST(Sampler, NeverDrawsAMaskedToken) {
  Sampler sampler = plain_sampler();
  const float logits[] = {-kInf, 0.0f, -kInf, 0.0f, -kInf};
  for (const auto& [token, count] : histogram(sampler, logits, 500)) {
    EXPECT_TRUE(token == 1 || token == 3);
  }
}

TEST(Sampler, RefusesBadLogitBias) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  for (const float bias : {kNan, kInf, 1e38f, -1e38f, 1000.5f}) {
    EXPECT_EQ(error_of([&] { sampler.set_logit_bias(0, bias); }).code(), Code::Argument) << bias;
  }
  EXPECT_EQ(error_of([&] { sampler.set_logit_bias(-1, 1.0f); }).code(), Code::Argument);
  const float logits[] = {1.0f, 2.0f};
  sampler.set_logit_bias(2, 1.0f);
  const Error error = error_of([&] { sampler.sample(logits, {}, 0); });
  EXPECT_EQ(error.code(), Code::Argument);
  EXPECT_THAT(error.what(), HasSubstr("token 2, the vocabulary has 0..1"));
  sampler.set_logit_bias(2, 0.0f);  // removes it
  EXPECT_NO_THROW(sampler.sample(logits, {}, 0));
}

TEST(Sampler, GreedyTakesTheLowestOfEqualTokens) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", int64_t{0});
  std::vector<float> logits(1000, -1.0f);
  for (const size_t at : {913u, 17u, 500u}) logits[at] = 3.0f;
  EXPECT_EQ(sampler.sample(logits, {}, 0), 17);
  const float one[] = {-5.0f};
  EXPECT_EQ(sampler.sample(one, {}, 0), 0);
}

TEST(Sampler, BiasAppliesToGreedyToo) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("temperature", 0.0);
  const float logits[] = {1.0f, 2.0f, 3.0f};
  sampler.set_logit_bias(0, 2.5f);
  EXPECT_EQ(sampler.sample(logits, {}, 0), 0);
  sampler.set_logit_bias(0, -kInf);
  EXPECT_EQ(sampler.sample(logits, {}, 0), 2);
}

TEST(Sampler, DrawsByProbability) {
  Sampler sampler = plain_sampler();
  const float logits[] = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  auto counts = histogram(sampler, logits, 20000);
  EXPECT_NEAR(counts[0] / 20000.0, 0.5, 0.015);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.015);
  EXPECT_NEAR(counts[2] / 20000.0, 0.2, 0.015);
}

TEST(Sampler, SameSeedAndPositionDrawTheSameToken) {
  std::vector<float> logits(300);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>((i * 37) % 101) * 0.05f;
  Sampler one;
  Sampler two;
  one.set("seed", int64_t{42});
  two.set("seed", int64_t{42});
  int different = 0;
  for (uint64_t position = 0; position < 200; ++position) {
    const int32_t token = one.sample(logits, {}, position);
    EXPECT_EQ(two.sample(logits, {}, position), token);
    two.set("seed", int64_t{43});
    different += two.sample(logits, {}, position) != token ? 1 : 0;
    two.set("seed", int64_t{42});
  }
  EXPECT_GT(different, 100);
}

TEST(Sampler, CopyHasTheSameParametersAndBias) {
  Sampler original;
  original.set("temperature", 0.0);
  original.set_logit_bias(1, 50.0f);
  Sampler copy(original);
  original.reset();
  const float logits[] = {1.0f, 0.0f, 3.0f};
  EXPECT_EQ(copy.sample(logits, {}, 0), 1);
  EXPECT_EQ(original.values().real("temperature"), 0.8);
}

TEST(Sampler, ExtremeLogitsAndTemperaturesStayDefined) {
  Sampler sampler = plain_sampler();
  const float logits[] = {3.4e38f, -3.4e38f, 3.3e38f};
  for (const double temperature : {1e-300, 1e-6, 0.5, 100.0}) {
    sampler.set("temperature", temperature);
    for (uint64_t position = 0; position < 50; ++position) {
      EXPECT_EQ(sampler.sample(logits, {}, position), 0);
    }
  }
}

TEST(Sampler, AllocatesNothingAfterTheFirstCall) {
  Sampler sampler;
  sampler.set("seed", int64_t{0});
  sampler.set("typical_p", 0.9);
  sampler.set("repeat_penalty", 1.1);
  sampler.set_logit_bias(5, 1.0f);
  std::vector<float> logits(4096);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>((i * 7919) % 4096) / 512;
  const std::vector<int32_t> history(100, 9);
  sampler.sample(logits, history, 0);
  const uint64_t before = num_allocations;
  for (uint64_t position = 1; position < 20; ++position) sampler.sample(logits, history, position);
  EXPECT_EQ(num_allocations, before);
}

}  // namespace
}  // namespace tenon
