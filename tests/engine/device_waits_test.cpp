// Engines and embedders wait for a device that another caller has: their deadlines and cancels are
// noticed meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <thread>

#include "engine/embedder.h"
#include "tests/base/expect_error.h"
#include "tests/base/weighing_system.h"
#include "tests/engine/delayed_model.h"
#include "tests/engine/tiny_bert.h"
#include "tests/engine/tiny_engine.h"

namespace tenon::waits {
namespace {

using testing::HasSubstr;

constexpr uint64_t kWaitMs = 1'000'000;

void wait_for_waiting(const Model& model, size_t count) {
  while (model.turn().num_waiting() != count) std::this_thread::yield();
}

class DeviceWaits : public testing::Test {
 protected:
  const std::shared_ptr<const Model> model_ = load_tiny();
  const std::shared_ptr<Engine> engine_ = Engine::create(model_);
  Session session_{engine_};
};

TEST_F(DeviceWaits, EndAtTheTimeout) {
  session_.append(make_tokens(20));
  const auto generation = session_.submit(greedy_sampler(), limits(3));
  {
    const std::scoped_lock turn(model_->turn());
    EXPECT_FALSE(engine_->wait(*generation, kWaitMs));
    EXPECT_EQ(engine_->metrics().steps_total, 0u);
  }
  EXPECT_TRUE(engine_->wait(*generation, UINT64_MAX));
}

TEST_F(DeviceWaits, EndAtTheDeadlineOfTheRequest) {
  session_.append(make_tokens(20));
  GenerationOptions options = limits(3);
  options.timeout_ns = kWaitMs;
  const auto generation = session_.submit(greedy_sampler(), options);
  const std::scoped_lock turn(model_->turn());
  EXPECT_TRUE(engine_->wait(*generation, UINT64_MAX));
  const Engine::Fetched fetched = engine_->fetch(*generation);
  ASSERT_TRUE(fetched.ended && fetched.failure);
  expect_error(Code::Deadline, HasSubstr("deadline"),
               [&] { std::rethrow_exception(fetched.failure); });
}

TEST_F(DeviceWaits, EndWithACancel) {
  session_.append(make_tokens(20));
  const std::scoped_lock turn(model_->turn());
  std::thread other(
      [&] { expect_error(Code::Cancelled, HasSubstr("cancelled"), [&] { session_.prefill(); }); });
  wait_for_waiting(*model_, 1);
  session_.cancel();
  other.join();
}

TEST_F(DeviceWaits, EndWhenServingStops) {
  session_.append(make_tokens(20));
  const auto generation = session_.submit(greedy_sampler(), limits(3));
  {
    const std::scoped_lock turn(model_->turn());
    std::thread other([&] { engine_->serve(); });
    wait_for_waiting(*model_, 1);
    engine_->stop();
    other.join();
  }
  EXPECT_TRUE(engine_->wait(*generation, UINT64_MAX));
}

/// Whoever has the turn settles the steps that the engine left.
TEST(DeviceWaitsWithSteps, EndWhenAnotherSettlesTheStep) {
  const auto model = load_delayed({}, {});
  const auto engine = Engine::create(model);
  Session session(engine);
  session.append(make_tokens(5));
  const auto generation = session.submit(greedy_sampler(), limits(8));
  ASSERT_TRUE(engine->step());
  while (engine->wait(*generation, 0)) (void)engine->fetch(*generation);
  std::atomic<bool> may_leave = false;
  model->turn().lock();
  std::thread other([&] {
    const DeviceTurn::Use use(model->turn(), {*System::real()});
    while (!may_leave) std::this_thread::yield();
  });
  wait_for_waiting(*model, 1);
  std::thread waiting([&] { EXPECT_TRUE(engine->wait(*generation, UINT64_MAX)); });
  wait_for_waiting(*model, 2);
  model->turn().unlock();
  waiting.join();
  may_leave = true;
  other.join();
}

// ---- Embedders ----------------------------------------------------------------------------------

std::shared_ptr<const Model> load_bert(std::shared_ptr<System> system) {
  ModelOptions options;
  options.embeddings = Embeddings::On;
  options.threads = 1;
  options.system = std::move(system);
  return load_source(TinyBert{}.source(), std::move(options));
}

/// Its clock can be set back.
class BackwardClock : public FaultySystem {
 public:
  uint64_t now_ns() noexcept override { return num_late_looks-- > 0 ? 200 : 50; }
  std::atomic<int> num_late_looks = 0;
};

TEST(EmbedderWaits, RunNothingWithoutTheTurn) {
  const auto clock = std::make_shared<BackwardClock>();
  const auto model = load_bert(clock);
  Embedder embedder(model, {});
  const std::vector<EmbedderText> texts(1, EmbedderText{make_tokens(8, 1, 57)});
  std::vector<float> rows(embedder.info().dimensions);
  const std::scoped_lock turn(model->turn());
  clock->num_late_looks = 1;
  expect_error(Code::Deadline, HasSubstr("the deadline passed after 0 of 1 texts"),
               [&] { embedder.embed(texts, rows.data(), 100); });
}

/// Two calls at once need two batches. The second call gives its batch back while another caller
/// has the device.
TEST(EmbedderWaits, ToFreeABatchEndWithTheCall) {
  const auto system = std::make_shared<WeighingSystem>();
  const auto model = load_bert(system);
  Embedder embedder(model, {});
  const std::vector<EmbedderText> texts(1, EmbedderText{make_tokens(8, 1, 57)});
  const auto embed = [&] {
    std::vector<float> rows(embedder.info().dimensions);
    embedder.embed(texts, rows.data(), UINT64_MAX);
    return rows;
  };
  const std::vector<float> expected = embed();
  const uint64_t held = system->held();
  model->turn().lock();
  std::thread first([&] { EXPECT_EQ(embed(), expected); });
  wait_for_waiting(*model, 1);
  std::thread second([&] { EXPECT_EQ(embed(), expected); });
  wait_for_waiting(*model, 2);
  std::atomic<bool> has_turn = false;
  std::atomic<bool> may_leave = false;
  std::thread other([&] {
    const std::scoped_lock turn(model->turn());
    has_turn = true;
    while (!may_leave) std::this_thread::yield();
  });
  wait_for_waiting(*model, 3);
  model->turn().unlock();
  while (!has_turn) std::this_thread::yield();
  wait_for_waiting(*model, 1);
  embedder.cancel();
  first.join();
  second.join();
  EXPECT_GT(system->held(), held);
  may_leave = true;
  other.join();
  EXPECT_EQ(embed(), expected);
  EXPECT_EQ(system->held(), held) << "the next call frees the batch";
}

}  // namespace
}  // namespace tenon::waits
