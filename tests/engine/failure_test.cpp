// Interrupted computations: cancels, exhausted memory, broken weights, forked processes. The
// session continues afterwards as if untouched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <limits>
#include <thread>

#include "tests/base/expect_error.h"
#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ModelOptions slices_of(uint32_t slice) {
  ModelOptions options;
  options.slice = slice;
  return options;
}

/// A request that cannot be added to a step ends, and the step has the others.
TEST(Failure, OfARequestThatIsInNoStepEndsItAlone) {
  EngineOptions options = unbounded_engine();
  options.prefix_cache = false;
  const auto engine = tiny_engine({}, {}, options);
  const std::vector<Token> text = make_tokens(20);
  Sequence wrong(engine->pools(), 64);
  Sequence right(engine->pools(), 64);
  wrong.append(std::span(text).first(3));
  right.append(text);
  const BatchItem beyond{&wrong, 0, 5};
  expect_error(Code::Internal, HasSubstr("do not fit"), [&] { engine->run(beyond); });
  const BatchItem items[] = {beyond, {&right, 0, 20}};
  expect_error(Code::Internal, HasSubstr("do not fit"), [&] { engine->run(items); });
  EXPECT_EQ(right.cached(), 20u);
  EXPECT_EQ(wrong.cached(), 0u);
  EXPECT_FALSE(wrong.holds_blocks());
}

// ---- Cancelling ---------------------------------------------------------------------------------

TEST(Cancel, FromAnotherThreadStopsAPromptAndTheSessionGoesOn) {
  const auto engine = tiny_engine({}, slices_of(8));
  const std::vector<Token> prompt = make_tokens(80);
  Session expected(engine);
  expected.append(prompt);

  Session session(engine);
  session.append(prompt);
  uint32_t slices = 0;
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] {
    session.prefill([&](double) {
      if (++slices == 3) std::thread([&] { session.cancel(); }).join();
      return true;
    });
  });
  EXPECT_EQ(slices, 3u) << "no slice is computed after the cancel";
  EXPECT_EQ(session.position(), 80u) << "the rest is pending as before";
  EXPECT_TRUE(same_bits(session.logits(), expected.logits()));
  EXPECT_EQ(session.stats().prefill_tokens, 80u) << "what was computed is not computed again";
}

/// A host's executor that cancels a session in its n-th call, in the middle of a step.
struct CancellingExecutor {
  Session* session = nullptr;
  uint32_t cancel_at = 0;
  std::atomic<uint32_t> calls{0};
  Executor executor() {
    return {this, 1, [](void* user, uint32_t n, void (*task)(void*, uint32_t), void* arg) {
              auto& self = *static_cast<CancellingExecutor*>(user);
              if (++self.calls == self.cancel_at && self.session != nullptr) self.session->cancel();
              for (uint32_t i = 0; i < n; ++i) task(arg, i);
            }};
  }
};

TEST(Cancel, IsNoticedInsideAStep) {
  CancellingExecutor host;
  ModelOptions options;
  options.executor = host.executor();
  TinyModel tiny;
  tiny.layers = 6;
  const auto engine = tiny_engine(tiny, std::move(options));
  const std::vector<Token> prompt = make_tokens(60);
  Session expected(engine);
  expected.append(prompt);
  host.calls = 0;
  const std::vector<float> logits = last_logits(expected);
  const uint32_t whole_step = host.calls;
  ASSERT_GT(whole_step, 12u) << "several phases in each layer";

  Session session(engine);
  session.append(prompt);
  host.session = &session;
  host.cancel_at = 4;
  host.calls = 0;
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { session.prefill(); });
  EXPECT_LT(host.calls, whole_step / 2);
  EXPECT_EQ(engine->pools()[0]->num_used(), 2u) << "the step's blocks are given back";
  EXPECT_TRUE(same_bits(session.logits(), logits));
}

TEST(Cancel, BeforehandEndsTheNextCallOnly) {
  Session session(tiny_engine());
  session.append(make_tokens(10));
  session.cancel();
  session.cancel();
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { session.prefill(); });
  EXPECT_EQ(session.stats().prefill_tokens, 0u);
  session.prefill();
  session.cancel();
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { generate(session, 1); });
  EXPECT_EQ(session.position(), 10u);
  EXPECT_EQ(generate(session, 2).size(), 2u);
}

TEST(Cancel, ByProgressKeepsWhatIsComputed) {
  Session session(tiny_engine({}, slices_of(8)));
  session.append(make_tokens(40));
  expect_error(Code::Cancelled, HasSubstr("16 of 40"),
               [&] { session.prefill([](double fraction) { return fraction < 0.4; }); });
  session.prefill();
  EXPECT_EQ(session.stats().prefill_tokens, 40u);
}

TEST(Cancel, ByTheReaderOfRowsDropsWhatIsNotComputed) {
  Session session(tiny_engine({}, slices_of(8)));
  expect_error(Code::Cancelled, HasSubstr("3 of 40"), [&] {
    session.evaluate(make_tokens(40), [](uint64_t row, auto) { return row < 2; });
  });
  EXPECT_EQ(session.position(), 8u);
  EXPECT_EQ(session.logits().size(), 300u);
}

TEST(Cancel, OfOneSessionLeavesItsNeighbours) {
  const auto engine = tiny_engine({}, slices_of(16));
  const std::vector<Token> text = make_tokens(50);
  std::vector<float> alone;
  {
    Session session(engine);
    session.append(text);
    alone = last_logits(session);
  }
  Sequence stopped(engine->pools(), 64);
  Sequence neighbour(engine->pools(), 64);
  stopped.append(text);
  neighbour.append(text);
  const uint32_t cancel = 1;
  std::vector<float> logits(300);
  const BatchItem items[] = {{&stopped, 0, 50, Outputs::None, nullptr, &cancel},
                             {&neighbour, 0, 50, Outputs::Last, logits.data(), nullptr}};
  expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { engine->run(items); });
  EXPECT_EQ(stopped.cached(), 0u);
  EXPECT_EQ(neighbour.cached(), 50u);
  EXPECT_TRUE(same_bits(logits, alone));
}

// ---- Memory -------------------------------------------------------------------------------------

/// Room for `blocks` blocks of 32 positions.
std::shared_ptr<Engine> engine_with_room(uint64_t blocks) {
  const auto model = load_tiny();
  EngineOptions options = unbounded_engine();
  options.cache_bytes = blocks * Engine::create(model)->pools()[0]->block_bytes();
  return Engine::create(model, options);
}

TEST(CacheBudget, IsSaidInBytesAndBothSessionAndEngineGoOn) {
  const auto engine = engine_with_room(2);
  const uint64_t block_bytes = engine->pools()[0]->block_bytes();
  Session session(engine);
  session.append(make_tokens(60));
  const std::vector<float> before = last_logits(session);
  session.append(make_tokens(10, 2));
  for (int attempt = 0; attempt < 2; ++attempt) {
    expect_error(
        Code::NoMemory,
        AllOf(HasSubstr(std::to_string(block_bytes)), HasSubstr(std::to_string(2 * block_bytes))),
        [&] { session.prefill(); });
  }
  EXPECT_EQ(session.position(), 70u) << "the rest is pending as before";
  session.rewind(60);
  EXPECT_TRUE(same_bits(session.logits(), before));
  EXPECT_EQ(generate(session, 4).size(), 4u) << "up to the end of its last block";
}

TEST(CacheBudget, UsedUpWhileGeneratingLeavesTheTextAsItWas) {
  const auto engine = engine_with_room(1);
  Session session(engine);
  session.append(make_tokens(30));
  const std::vector<Token> text = generate(session, 3);  // position 32 is drawn but not computed
  EXPECT_EQ(session.position(), 33u);
  expect_error(Code::NoMemory, HasSubstr("KV cache"), [&] { generate(session, 1); });
  EXPECT_EQ(session.position(), 33u);
  EXPECT_EQ(session.tokens()[32], text[2]);
}

TEST(CacheBudget, BelowOneBlockRunsNothing) {
  EngineOptions options = unbounded_engine();
  options.cache_bytes = 1;
  Session session(Engine::create(load_tiny(), options));
  session.append(make_tokens(1));
  expect_error(Code::NoMemory, HasSubstr("KV cache"), [&] { session.prefill(); });
}

TEST(CacheBudget, OneSequenceOfABatchDoesNotStopTheOthers) {
  const auto engine = engine_with_room(2);
  Sequence greedy(engine->pools(), 256);
  Sequence modest(engine->pools(), 256);
  greedy.append(make_tokens(200));
  modest.append(make_tokens(20));
  std::vector<float> logits(300);
  const BatchItem items[] = {{&greedy, 0, 200, Outputs::None, nullptr, nullptr},
                             {&modest, 0, 20, Outputs::Last, logits.data(), nullptr}};
  expect_error(Code::NoMemory, HasSubstr("KV cache"), [&] { engine->run(items); });
  EXPECT_EQ(modest.cached(), 20u);
  EXPECT_EQ(greedy.cached(), 0u);
}

// ---- Broken weights -----------------------------------------------------------------------------

TEST(BrokenWeights, GiveAnErrorAndNeverAToken) {
  for (const float broken :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const char* backend : {"cpu", "reference"}) {
      TinyModel tiny;
      tiny.edit = [broken](const std::string& name, std::span<float> values) {
        if (name == "output_norm.weight") values[3] = broken;
      };
      ModelOptions options;
      options.backend = backend;
      Session session(tiny_engine(tiny, std::move(options)));
      session.append(make_tokens(5));
      const auto message = HasSubstr("non-finite logits");
      expect_error(Code::State, message, [&] { generate(session, 1); });
      expect_error(Code::State, message, [&] { (void)session.logits(); });
      expect_error(Code::State, message, [&] { evaluate_all(session, make_tokens(3)); });
      EXPECT_EQ(session.position(), 8u) << "computed, but no token was drawn";
    }
  }
}

TEST(BrokenWeights, OfARareTokenShowWhenItComes) {
  TinyModel tiny;
  tiny.tied = false;
  tiny.formats = {Format::F32};
  tiny.edit = [&tiny](const std::string& name, std::span<float> values) {
    if (name == "token_embd.weight") values[7 * tiny.width] = std::nanf("");
  };
  Session session(tiny_engine(tiny));
  const Token good[] = {1, 2, 3};
  const Token bad[] = {7};
  session.append(good);
  const std::vector<float> before = last_logits(session);
  session.append(bad);
  expect_error(Code::State, HasSubstr("non-finite"), [&] { (void)session.logits(); });
  session.rewind(3);
  EXPECT_TRUE(same_bits(session.logits(), before));
}

// ---- fork() -------------------------------------------------------------------------------------

TEST(ForkedProcess, CannotUseTheEngineAndTheParentIsFine) {
  const auto engine = tiny_engine();
  Session session(engine);
  session.append(make_tokens(10));
  session.prefill();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      generate(session, 2);  // the first token's logits already existed
    } catch (const Error& error) {
      status = error.code() == Code::State ? 0 : 2;
    }
    ::_exit(status);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(generate(session, 3).size(), 3u);
}

}  // namespace
}  // namespace tenon
