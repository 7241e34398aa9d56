// A failed allocation, of the host or operator new, neither crashes the reference backend nor
// leaks.
#include <gtest/gtest.h>

#include "program/operations.h"
#include "tests/backends/reference/reference_runner.h"
#include "tests/base/counted_new.h"

namespace tenon::testing_reference {
namespace {

using counted_new::allocations_left;

Program sample_with_rope() {
  ProgramBuilder b;
  const uint32_t group = b.cache_group({1, 1, 2, 2, TENON_TYPE_F32, 2});
  const double frequency[] = {1.0};
  const Slot x = op::embed(b, b.weight("x", Format::F32, 3, 2));
  const Slot n = op::rms_norm(b, x, b.weight("n", Format::F32, 1, 2), 1e-5f);
  const Slot y =
      op::linear(b, n, b.weight("w", Format::F32, 2, 2), b.weight("n", Format::F32, 1, 2));
  const Slot k =
      op::rope(b, y, op::rope_angles(b, b.constant("f", frequency), 1), TENON_ROPE_HALVES, 2);
  op::kv_write(b, k, y, group, 0);
  AttentionOptions options;
  options.heads = 1;
  return std::move(b).finish(op::gather_rows(b, op::attention(b, x, options)), {.max_tokens = 4});
}

/// A backend from its entry to the end of one step, with failures set by counters. Frees its
/// objects; returns the first status other than OK.
class Life {
 public:
  Life() : program_(sample_with_rope()) {}
  ~Life() {
    const auto& api = ReferenceRunner::api();
    api.buffer_destroy(slab_);
    if (executable_ != nullptr) api.destroy_executable(executable_);
    if (device_ != nullptr) api.destroy_device(device_);
    EXPECT_EQ(host.live_bytes, 0u);
    EXPECT_EQ(host.wrong_releases, 0u);
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  /// budget: allocations that operator new grants over all calls; negative: unlimited.
  tenon_status live(int64_t budget) {
    const auto& api = ReferenceRunner::api();
    const auto call = [&](auto&& f) {
      allocations_left = budget;
      const tenon_status status = f();
      budget = allocations_left;
      allocations_left = -1;
      return status;
    };
    tenon_status status =
        call([&] { return api.create_device(host.table(), 0, nullptr, 0, &device_); });
    if (status == 0) {
      status = call([&] { return api.compile(device_, &program_.view(), &executable_); });
    }
    const float zeros[6] = {};
    for (uint32_t slot = 0; status == 0 && slot < program_.view().num_slots; ++slot) {
      const tenon_slot& info = program_.slots()[slot];
      if (info.kind != TENON_SLOT_WEIGHT) continue;
      status = call([&] {
        return api.load_rows(executable_, slot, 0, info.rows, zeros, info.rows * info.columns * 4);
      });
    }
    if (status == 0) status = call([&] { return api.seal(executable_); });
    if (status == 0) {
      status = call([&] { return api.buffer_create(device_, 1024, TENON_MEMORY_CACHE, &slab_); });
    }
    if (status != 0) return status;
    OwnedStep owned(program_.view(), {Part{{0, 1, 2}}}, slab_, 8);
    uint64_t ticket = 0;
    return call([&] { return api.run(executable_, &owned.step, &ticket); });
  }

  FakeHost host;

 private:
  Program program_;
  tenon_device* device_ = nullptr;
  tenon_executable* executable_ = nullptr;
  tenon_buffer* slab_ = nullptr;
};

TEST(ReferenceMemory, EveryHostAllocationMayFail) {
  for (int64_t granted = 0;; ++granted) {
    ASSERT_LT(granted, 1000);
    Life life;
    life.host.allocations_left = granted;
    const tenon_status status = life.live(-1);
    if (status == 0) {
      EXPECT_GT(granted, 4);
      return;
    }
    EXPECT_EQ(status, TENON_BACKEND_NO_MEMORY) << granted;
    EXPECT_EQ(life.host.num_errors, 1u);
  }
}

TEST(ReferenceMemory, EveryOperatorNewMayFail) {
  for (int64_t granted = 0;; ++granted) {
    ASSERT_LT(granted, 10000);
    Life life;
    const tenon_status status = life.live(granted);
    if (status == 0) {
      EXPECT_GT(granted, 10);
      return;
    }
    EXPECT_EQ(status, TENON_BACKEND_NO_MEMORY) << granted;
  }
}

}  // namespace
}  // namespace tenon::testing_reference
