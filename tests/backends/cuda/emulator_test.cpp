// The emulator against the tables of the PTX ISA, and its handling of incorrect kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

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

struct MatricesStage {
  alignas(16) uint16_t matrices[4][8][8];
  uint pairs[kWarp][4];
};
struct MatricesKernel {
  MatricesStage& stage;
  Constants constants;
  void run() const {
    load_matrices(stage.pairs[lane()],
                  reinterpret_cast<const char*>(stage.matrices[lane() / 8][lane() % 8]));
  }
};

/// Two products of a warp of a warpgroup, accumulated, with columns b in core matrices.
struct AsyncStage {
  static constexpr uint kAcross = 144;
  static constexpr uint kAlong = 8 * kAcross;
  static constexpr uint kShared = 2 * 2 * kAlong;
  char shared[kShared];
  uint a[2][kWarp][4];
  float begun[kWarp][8][4];
  float early[kWarp][8][4];
  float sums[kWarp][8][4];
  bool waits;
};
struct AsyncKernel {
  AsyncStage& stage;
  Constants constants;
  void run() const {
    char* shared = dynamic_shared<char>();
    for (uint i = lane(); i < AsyncStage::kShared; i += kWarp) shared[i] = stage.shared[i];
    shared_fence();
    warp_barrier();
    float sums[8][4];
    for (auto& of_block : sums) std::fill_n(of_block, 4, 5.0F);
    const auto note = [&](float(&to)[8][4]) { std::copy_n(&sums[0][0], 32, &to[0][0]); };
    products_fence();
    for (uint i = 0; i < 2; ++i) {
      const uint64_t b = core_matrices(shared + i * 2 * AsyncStage::kAlong, AsyncStage::kAcross,
                                       AsyncStage::kAlong);
      multiply_async(sums, stage.a[i][lane()], b, i > 0);
    }
    note(stage.begun[lane()]);
    commit_products();
    commit_products();
    wait_for_products<2>();
    note(stage.early[lane()]);
    if (!stage.waits) return;
    wait_for_products<1>();
    note(stage.sums[lane()]);
  }
};

/// Copies a line and reads it before and after the wait.
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

/// Multiplies copied data without a fence.
struct UnfencedKernel {
  CopyStage& stage;
  Constants constants;
  void run() const {
    copy_async(dynamic_shared<char>(), reinterpret_cast<Address>(stage.line));
    commit_copies();
    wait_for_copies<0>();
    float sums[8][4] = {};
    const uint a[4] = {};
    multiply_async(sums, a, core_matrices(dynamic_shared<char>(), 16, 128), true);
    commit_products();
    wait_for_products<0>();
  }
};

template <typename Kernel, typename Stage>
void run(const char* name, Stage& stage, uint threads = kWarp, uint shared_bytes = 64) {
  void (*entry)(Address, Constants) = [](Address parameters, Constants constants) {
    Kernel{*reinterpret_cast<Stage*>(parameters), constants}.run();
  };
  const emulator::Kernel kernel{name, true, kWarp, entry};
  emulator::Machine(emulator::Order::Random)
      .run(kernel, {1, 1, threads, shared_bytes, reinterpret_cast<Address>(&stage), {}});
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

TEST(Emulator, LoadsMatricesRowByRow) {
  MatricesStage stage{};
  for (uint i = 0; i < 4 * 64; ++i)
    stage.matrices[i / 64][i / 8 % 8][i % 8] = static_cast<uint16_t>(i);
  run<MatricesKernel>("matrices", stage);
  for (uint l = 0; l < kWarp; ++l) {  // thread l: row l / 4, the two values from 2 (l % 4) on
    for (uint i = 0; i < 4; ++i) {
      const uint first = i * 64 + l / 4 * 8 + l % 4 * 2;
      EXPECT_EQ(stage.pairs[l][i], first | (first + 1) << 16) << l << ", " << i;
    }
  }
}

/// wgmma.m64nNk16, a in registers and b in shared memory: PTX ISA, "Register Fragments for
/// wgmma.mma_async.m64nNk16" and "Strides": K-major, without swizzle.
TEST(Emulator, ProductsOfWarpgroupsComeWhenTheyAreWaitedForAndNotBefore) {
  const auto half = [](float x) { return f16_to_f32(f32_to_f16(x)); };
  const auto a = [&](uint i, uint r, uint k) {
    return half(std::sin(1.0F + i * 300 + r * 16 + k));
  };
  const auto b = [&](uint i, uint k, uint n) {
    return half(std::cos(1.0F + i * 700 + k * 64 + n));
  };
  auto stage = std::make_unique<AsyncStage>();
  stage->waits = true;
  for (uint i = 0; i < 2; ++i) {
    for (uint r = 0; r < 16; ++r) {
      for (uint k = 0; k < 16; ++k) {
        const gpu::FragmentPlace place = gpu::fragment_place(r, k);
        stage->a[i][place.lane][place.value / 2] |= uint{f32_to_f16(a(i, r, k))}
                                                    << place.value % 2 * 16;
      }
    }
    for (uint k = 0; k < 16; ++k) {
      for (uint n = 0; n < 64; ++n) {
        const uint at = i * 2 * AsyncStage::kAlong + k / 8 * AsyncStage::kAlong +
                        n / 8 * AsyncStage::kAcross + n % 8 * 16 + k % 8 * 2;
        const uint16_t bits = f32_to_f16(b(i, k, n));
        std::memcpy(&stage->shared[at], &bits, 2);
      }
    }
  }
  run<AsyncKernel>("products", *stage, kWarp, AsyncStage::kShared);
  for (uint l = 0; l < kWarp; ++l) {
    for (uint v = 0; v < 32; ++v) {
      const uint i = v % 4;
      EXPECT_TRUE(std::isnan(stage->begun[l][v / 4][i])) << "a product is under way";
      EXPECT_TRUE(std::isnan(stage->early[l][v / 4][i])) << "and was not waited for";
      const uint row = l / 4 + i / 2 * 8;
      const uint column = v / 4 * 8 + l % 4 * 2 + i % 2;
      double expected = 0;
      for (uint k = 0; k < 32; ++k)
        expected += double{a(k / 16, row, k % 16)} * b(k / 16, k % 16, column);
      EXPECT_NEAR(stage->sums[l][v / 4][i], expected, 1e-5) << l << ", " << v;
    }
  }
}

TEST(EmulatorDeathTest, EndsTheProcessForProductsThatNobodyWaitsFor) {
  auto stage = std::make_unique<AsyncStage>();
  EXPECT_DEATH(run<AsyncKernel>("products", *stage, kWarp, AsyncStage::kShared),
               "kernel products: products were not waited for");
}

TEST(EmulatorDeathTest, EndsTheProcessForAProductThatReadsACopyWithoutAFence) {
  CopyStage stage{};
  EXPECT_DEATH(run<UnfencedKernel>("unfenced", stage, kWarp, AsyncStage::kShared),
               "kernel unfenced: a product of what no fence has passed");
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
