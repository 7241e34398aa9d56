// Requests in a step keep their biases apart, drawn by the device or later by the host, even beside
// failing requests.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/engine/answers.h"

namespace tenon {
namespace {

constexpr Token kMine = 41;
constexpr Token kTheirs = 40;
constexpr uint32_t kSmallVocab = 300;
constexpr uint64_t kNumDrawn = 4;

/// Model on a backend that draws on the device.
std::shared_ptr<const Model> on_reference() {
  ModelOptions options;
  options.backend = "reference";
  options.slice = 32;
  options.context = 256;
  TinyModel tiny;
  tiny.layers = 1;
  tiny.vocab = kSmallVocab;
  tiny.formats = {Format::Q8_0, Format::F32};
  return load_tiny(tiny, std::move(options));
}

Sampler wanting(Token token) {
  Sampler sampler = greedy_sampler();
  sampler.set_logit_bias(token, 1000.0F);
  return sampler;
}

/// Greedy sampler with a bias outside the vocabulary: no device draws it, and the host's draw
/// fails.
Sampler failing() {
  Sampler sampler = wanting(kTheirs);
  sampler.set_logit_bias(kSmallVocab + 5, 1.0F);
  return sampler;
}

/// Answers of requests submitted before the first step; empty for a request that fails with
/// ARGUMENT.
std::vector<std::vector<Token>> together(const std::shared_ptr<const Model>& model,
                                         const std::vector<Sampler>& samplers,
                                         uint64_t count = kNumDrawn) {
  const auto engine = Engine::create(model);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::shared_ptr<Generation>> generations;
  for (const Sampler& sampler : samplers) {
    sessions.push_back(std::make_unique<Session>(engine));
    sessions.back()->append(make_tokens(5, static_cast<uint32_t>(sessions.size())));
    GenerationOptions options;
    options.max_tokens = count;
    generations.push_back(sessions.back()->submit(sampler, options));
  }
  std::vector<std::vector<Token>> answers;
  for (const auto& generation : generations) {
    try {
      answers.push_back(whole_answer(*engine, *generation).tokens);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::Argument) << error.what();
      answers.emplace_back();
    }
  }
  return answers;
}

const std::vector<Token> kAllMine(kNumDrawn, kMine);
const std::vector<Token> kAllTheirs(kNumDrawn, kTheirs);

TEST(StepBiases, StayWithTheirRequest) {
  const auto model = on_reference();
  const auto answers = together(model, {wanting(kTheirs), wanting(kMine), wanting(kTheirs)});
  EXPECT_EQ(answers, (std::vector<std::vector<Token>>{kAllTheirs, kAllMine, kAllTheirs}));
}

/// A draw with an incomplete description leaves no biases.
TEST(StepBiases, OfADrawThatTheDeviceCannotDescribeAreDropped) {
  const auto model = on_reference();
  const auto answers = together(model, {failing(), wanting(kMine), failing(), wanting(kMine)});
  EXPECT_EQ(answers, (std::vector<std::vector<Token>>{{}, kAllMine, {}, kAllMine}));
}

/// Penalties ask for the largest logits instead of a draw.
TEST(StepBiases, OfAListOfCandidatesAreItsOwn) {
  const auto model = on_reference();
  Sampler penalised = wanting(kTheirs);
  Sampler failing_later = failing();
  for (Sampler* sampler : {&penalised, &failing_later}) sampler->set("repeat_penalty", 1.1);
  const auto answers =
      together(model, {penalised, wanting(kMine), failing_later, wanting(kMine), penalised});
  EXPECT_EQ(answers,
            (std::vector<std::vector<Token>>{kAllTheirs, kAllMine, {}, kAllMine, kAllTheirs}));
}

/// The end token is forbidden only for the request that forbids it.
TEST(StepBiases, ForbiddenTokensAreOfTheirRequest) {
  constexpr Token kEnd = 2;
  Sampler late = wanting(kEnd);
  late.set("min_tokens", int64_t{3});
  std::vector<size_t> lengths;
  for (const auto& tokens : together(on_reference(), {late, wanting(kEnd), late}, 8)) {
    ASSERT_FALSE(tokens.empty());
    EXPECT_EQ(tokens.back(), kEnd);
    lengths.push_back(tokens.size());
  }
  EXPECT_EQ(lengths, (std::vector<size_t>{4, 1, 4}));
}

}  // namespace
}  // namespace tenon
