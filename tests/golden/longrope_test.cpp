// Models with rope tables for short and for long texts: the choice is made when the model is
// opened, and identifies its cache and snapshots. Written by make/make_transformers_goldens.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"
#include "tests/golden/golden_model.h"

namespace tenon::golden {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr uint32_t kShortContext = 32;  // rope.scaling.original_context_length of both goldens

class LongRope : public testing::Test {
 protected:
  static std::shared_ptr<Engine> engine(const GoldenModel& golden, uint32_t context) {
    ModelOptions options;
    options.backend = "reference";
    options.cache_type = CacheType::F32;
    options.threads = 2;
    options.context = context;
    return Engine::create(load_source(golden.source(), std::move(options)));
  }
  static double error_of(const GoldenModel& golden, uint32_t context) {
    Session session(engine(golden, context));
    return largest_relative_error(evaluate_all(session, golden.tokens()), golden.logits());
  }
  const GoldenModel short_{"further/phi3_short"};
  const GoldenModel long_{"further/phi3_long"};
};

TEST_F(LongRope, TheContextThatAModelIsOpenedForChoosesTheTable) {
  EXPECT_LE(error_of(short_, kShortContext), kMaxReferenceError);
  EXPECT_GT(error_of(short_, kShortContext + 1), 0.01);
  EXPECT_GT(error_of(short_, 0), 0.01) << "the file's context is longer";
  EXPECT_LE(error_of(long_, kShortContext + 8), kMaxReferenceError);
  EXPECT_LE(error_of(long_, 0), kMaxReferenceError);
}

TEST_F(LongRope, LongTextsAreRefusedWhereTheModelWasOpenedForShortOnes) {
  const auto of_short = engine(long_, kShortContext - 2);
  EXPECT_EQ(Session(of_short).context(), kShortContext - 2);
  EXPECT_NO_THROW(Session(of_short, SessionOptions{kShortContext}));
  expect_error(Code::Limit, AllOf(HasSubstr("context is 33"), HasSubstr("default_context 33")),
               [&] { Session(of_short, SessionOptions{kShortContext + 1}); });
  EXPECT_NO_THROW(Session(engine(long_, 0), SessionOptions{100'000}));
}

TEST_F(LongRope, SnapshotsOfTheOtherTableAreComputedAgainOrRefused) {
  Session of_long(engine(long_, 0));
  std::vector<Token> tokens = long_.tokens();
  tokens.resize(20);
  of_long.append(tokens);
  of_long.prefill();
  std::vector<std::byte> saved;
  of_long.save([&saved](std::span<const std::byte> part) {
    saved.insert(saved.end(), part.begin(), part.end());
  });
  const auto source = ByteSource::from_memory(saved, "snapshot");
  const auto of_short = engine(long_, kShortContext);
  Session restored(of_short);
  expect_error(Code::Format, HasSubstr("for texts of more than 32"),
               [&] { restored.restore(*source, false); });
  restored.restore(*source, true);
  Session fresh(of_short);
  fresh.append(tokens);
  EXPECT_TRUE(same_bits(restored.logits(), fresh.logits()));
  EXPECT_FALSE(same_bits(restored.logits(), of_long.logits()));
}

}  // namespace
}  // namespace tenon::golden
