// The emulator against the tables of the PTX ISA, and what it does to kernels that keep to no rule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "backends/cuda/kernels/device_mma.h"
#include "backends/gpu/packed_unit.h"
#include "quant/half.h"
#include "tests/backends/cuda/emulator/emulated_group.h"

namespace tenon::cuda {
namespace {

struct ProductStage {
  float sums[kWarp][4];
  uint a[kWarp][4];
  uint b[kWarp][2];
};
struct ProductKernel {
  ProductStage& stage;
  Constants constants;
  void run() const {
    float sums[4];
    for (uint i = 0; i < 4; ++i) sums[i] = stage.sums[lane()][i];
    multiply_add(sums, stage.a[lane()], stage.b[lane()]);
    for (uint i = 0; i < 4; ++i) stage.sums[lane()][i] = sums[i];
  }
};

/// Copies a line, and looks at it before it waits and after.
struct CopyStage {
  uint line[4];
  uint begun[4];
  uint early[4];
  uint waited[4];
  bool waits;
};
struct CopyKernel {
  CopyStage& stage;
  Constants constants;
  void run() const {
    if (thread_number() != 0) return;
    uint* shared = dynamic_shared<uint>();
    for (uint i = 0; i < 4; ++i) shared[i] = 7;
    copy_async(shared, reinterpret_cast<Address>(stage.line));
    for (uint i = 0; i < 4; ++i) stage.begun[i] = shared[i];
    commit_copies();
    commit_copies();
    wait_for_copies<2>();
    for (uint i = 0; i < 4; ++i) stage.early[i] = shared[i];
    if (!stage.waits) return;
    wait_for_copies<1>();
    for (uint i = 0; i < 4; ++i) stage.waited[i] = shared[i];
  }
};

template <typename Kernel, typename Stage>
void run(const char* name, Stage& stage, uint threads = kWarp) {
  void (*entry)(Address, Constants) = [](Address parameters, Constants constants) {
    Kernel{*reinterpret_cast<Stage*>(parameters), constants}.run();
  };
  const emulator::Kernel kernel{name, true, kWarp, entry};
  emulator::Machine(emulator::Order::Random)
      .run(kernel, {1, 1, threads, 64, reinterpret_cast<Address>(&stage), {}});
}

TEST(Emulator, MultipliesMatricesAsTheLanesHoldThem) {
  std::array<std::array<float, 16>, 16> a;
  std::array<std::array<float, 8>, 16> b;
  for (uint r = 0; r < 16; ++r) {
    for (uint k = 0; k < 16; ++k) a[r][k] = f16_to_f32(f32_to_f16(std::sin(1.0F + r * 16 + k)));
    for (uint n = 0; n < 8; ++n) b[r][n] = f16_to_f32(f32_to_f16(std::cos(1.0F + r * 8 + n)));
  }
  ProductStage stage{};
  const auto put = [](uint& pair, uint i, float value) {
    pair |= uint{f32_to_f16(value)} << i * 16;
  };
  for (uint r = 0; r < 16; ++r) {
    for (uint k = 0; k < 16; ++k) {
      const gpu::FragmentPlace place = gpu::fragment_place(r, k);
      put(stage.a[place.lane][place.value / 2], place.value % 2, a[r][k]);
    }
  }
  for (uint l = 0; l < kWarp;
       ++l) {  // B: row = (lane % 4) * 2 + (i & 1), + 8 for i >= 2; column = lane >> 2
    for (uint i = 0; i < 4; ++i) {
      put(stage.b[l][i / 2], i % 2, b[l % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0)][l >> 2]);
    }
    for (uint i = 0; i < 4; ++i) stage.sums[l][i] = static_cast<float>(i);
  }
  run<ProductKernel>("product", stage);
  for (uint l = 0; l < kWarp; ++l) {
    for (uint i = 0; i < 4;
         ++i) {  // C: row = lane >> 2, + 8 for i >= 2; column = (lane % 4) * 2 + (i & 1)
      double expected = i;
      for (uint k = 0; k < 16; ++k) {
        expected += double{a[(l >> 2) + (i >= 2 ? 8 : 0)][k]} * b[k][l % 4 * 2 + (i & 1)];
      }
      EXPECT_FLOAT_EQ(stage.sums[l][i], static_cast<float>(expected)) << l << ", " << i;
    }
  }
}

TEST(Emulator, CopiesComeWhenTheyAreWaitedForAndNotBefore) {
  CopyStage stage{{1, 2, 3, 4}, {}, {}, {}, true};
  run<CopyKernel>("copy", stage);
  EXPECT_THAT(stage.begun, testing::Each(0xFFFFFFFFu)) << "what a stage held is gone";
  EXPECT_THAT(stage.early, testing::Each(0xFFFFFFFFu));
  EXPECT_THAT(stage.waited, testing::ElementsAre(1, 2, 3, 4));
}

TEST(EmulatorDeathTest, EndsTheProcessForAKernelThatDoesNotWait) {
  CopyStage stage{{1, 2, 3, 4}, {}, {}, {}, false};
  EXPECT_DEATH(run<CopyKernel>("copy", stage), "kernel copy: copies were not waited for");
}

TEST(EmulatorDeathTest, EndsTheProcessForMoreThreadsThanAKernelIsFor) {
  CopyStage stage{};
  EXPECT_DEATH(run<CopyKernel>("copy", stage, 2 * kWarp), "more threads than it is for");
}

}  // namespace
}  // namespace tenon::cuda
