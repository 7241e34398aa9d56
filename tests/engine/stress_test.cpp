// Threads create, submit, cancel, fork and destroy concurrently: no lost request, no leak, no
// report of ThreadSanitizer.
#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/tiny_engine.h"

namespace tenon {
namespace {

/// A thread: sessions with random calls, and the errors they may get.
class Client {
 public:
  Client(std::shared_ptr<Engine> engine, uint32_t seed)
      : engine_(std::move(engine)), state_(seed) {}

  void run(uint32_t rounds) {
    for (uint32_t i = 0; i < rounds; ++i) {
      try {
        run_once();
      } catch (const Error& error) {
        const bool expected = error.code() == Code::Cancelled || error.code() == Code::Busy ||
                              error.code() == Code::NoMemory || error.code() == Code::Deadline;
        EXPECT_TRUE(expected) << error.what();
      }
    }
  }

 private:
  uint32_t below(uint32_t limit) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % limit;
  }

  void run_once() {
    Session session(engine_, SessionOptions{128});
    session.append(make_tokens(1 + below(90), below(4)));
    if (below(3) == 0) session.prefill();
    const std::unique_ptr<Session> fork = below(3) == 0 ? session.fork() : nullptr;
    Session& used = fork != nullptr ? *fork : session;
    if (below(3) == 0) {
      saved_.clear();
      used.save([this](std::span<const std::byte> part) {
        saved_.insert(saved_.end(), part.begin(), part.end());
      });
      if (below(2) == 0) session.rewind(below(2));
      session.restore(*ByteSource::from_memory(saved_, "snapshot"));
    }
    GenerationOptions options;
    options.max_tokens = 1 + below(8);
    options.priority = static_cast<int32_t>(below(3));
    if (below(6) == 0) options.timeout_ns = 1 + below(3'000'000);
    const auto generation = used.submit(greedy_, options);
    std::thread other;
    if (below(3) == 0) {
      other = std::thread([&, by_session = below(2) == 0] {
        by_session ? used.cancel() : engine_->cancel(*generation);
      });
    }
    if (below(4) != 0) {
      const uint64_t patience_ns = below(4) == 0 ? below(2'000'000) : UINT64_MAX;
      while (engine_->wait(*generation, patience_ns) && !engine_->fetch(*generation).ended) {
      }
    }
    if (other.joinable()) other.join();
    (void)engine_->report(*generation);
    (void)engine_->metrics();
    // The session's destructor ends the rest.
  }

  std::shared_ptr<Engine> engine_;
  uint32_t state_;
  std::vector<std::byte> saved_;
  Sampler greedy_ = greedy_sampler();
};

TEST(Stress, LeavesNothingBehind) {
  TinyModel tiny;
  tiny.layers = 1;
  tiny.width = 32;
  tiny.heads = 2;
  tiny.key_dim = tiny.value_dim = 16;
  tiny.feed_forward = 64;
  tiny.formats = {Format::F32};
  ModelOptions of_model;
  of_model.slice = 32;
  of_model.threads = 2;
  EngineOptions options = unbounded_engine();
  options.prefix_cache = true;
  const auto model = load_tiny(tiny, std::move(of_model));
  options.cache_bytes = 16 * Engine::create(model)->pools()[0]->block_bytes();
  options.max_queued = 6;
  const auto engine = Engine::create(model, options);
  std::thread server([&] { engine->serve(); });
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { Client(engine, i + 1).run(40); });
  }
  for (std::thread& thread : threads) thread.join();
  engine->stop();
  server.join();
  const EngineMetrics metrics = engine->metrics();
  EXPECT_EQ(metrics.waiting + metrics.running, 0u);
  EXPECT_EQ(metrics.kv_used_bytes, metrics.kv_shared_bytes);
  EXPECT_EQ(metrics.submitted_total, metrics.finished_total + metrics.cancelled_total +
                                         metrics.expired_total + metrics.failed_total);
  EXPECT_LE(metrics.kv_held_bytes, options.cache_bytes);
}

}  // namespace
}  // namespace tenon
