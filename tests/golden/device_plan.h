// A device's plan beside the memory counted by its driver, for tests of the GPU backends.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"
#include "plan/planner.h"

namespace tenon::golden {

/// Bytes of the device's memory.
struct DeviceBytes {
  std::function<int64_t()> now;
  std::function<int64_t()> peak;
  std::function<void()> restart_peak;
};

/// Plans, then loads the model and allocates the cache of two full sessions. Codebook tables and
/// allocation rounding are not part of any figure.
inline void expect_peak_of_plan(ModelOptions (*make_options)(), const DeviceBytes& bytes) {
  constexpr uint32_t kContext = 128;
  constexpr uint64_t kSessions = 2;
  const char* const path = TENON_TEST_DATA_DIR "/../../examples/models/demo-q8_0.gguf";
  const auto load = [&](bool inspect) {
    ModelOptions options = make_options();
    options.context = kContext;
    options.inspect = inspect;
    return Model::load(path, std::move(options));
  };
  Hardware hardware;
  hardware.threads = 1;
  hardware.memory_bytes = uint64_t{1} << 40;
  const int64_t before = bytes.now();
  bytes.restart_peak();
  const Plan plan = make_plan(*load(true), {kContext, kSessions}, hardware);
  ASSERT_EQ(plan.devices.size(), 1u);
  const DevicePlan& device = plan.devices[0];
  EXPECT_GT(device.kv_bytes, 0u);
  EXPECT_LT(bytes.peak() - before, static_cast<int64_t>(device.weights_bytes / 4))
      << "a plan takes no memory of the device";

  bytes.restart_peak();
  EngineOptions engine_options = unbounded_engine();
  engine_options.cache_bytes = device.kv_bytes;
  const auto engine = Engine::create(load(false), engine_options);
  // Allocates the blocks of full sessions without computing them: an emulator takes minutes for
  // that.
  const std::scoped_lock turn(engine->model().turn());
  ASSERT_EQ(engine->pools().size(), 1u);
  BlockPool& pool = *engine->pools()[0];
  std::vector<uint32_t> blocks;
  while (blocks.size() < pool.max_blocks()) blocks.push_back(pool.allocate());
  EXPECT_GE(blocks.size() * pool.block_tokens(), kContext * kSessions);
  const auto planned = static_cast<double>(device.total_bytes);
  EXPECT_NEAR(static_cast<double>(bytes.peak() - before), planned, 0.03 * planned);
  for (const uint32_t block : blocks) pool.release(block);
}

}  // namespace tenon::golden
