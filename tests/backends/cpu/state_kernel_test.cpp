// Scans of every instruction set of this machine: equal bits whether the state is written in place
// or to another block.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"

namespace tenon::cpu {
namespace {

constexpr uint64_t kRows = 7;  // odd: the two chains of a sum differ in length
constexpr uint64_t kTokens = 3;

struct StateTileValues {
  float values[kRows * kStateLanes];
};

/// Inputs of a tile; each row has as many values as the longer of rows and lanes.
struct ScanInputs {
  std::vector<float> rows[7];
  StateTileValues before{};
  ScanInputs() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-0.9f, 0.9f);
    for (std::vector<float>& row : rows) {
      row.resize(kTokens * kStateLanes);
      for (float& v : row) v = values(random);
    }
    for (float& v : before.values) v = values(random);
  }
};

using ScanOf = void (*)(const Kernels&, const ScanInputs&, const StateScan&);

void run_ssm_scan(const Kernels& kernels, const ScanInputs& in, const StateScan& scan) {
  SsmScanArgs args{};
  args.scan = scan;
  args.one_decay = true;
  args.x = in.rows[0].data();
  args.dt = in.rows[1].data();
  args.a = in.rows[2].data();
  args.b = in.rows[3].data();
  args.c = in.rows[4].data();
  args.dt_stride = args.a_stride = 1;
  args.b_stride = kRows;
  kernels.ssm_scan(args);
}

template <bool kPerRow>
void run_delta_rule(const Kernels& kernels, const ScanInputs& in, const StateScan& scan) {
  float scratch[2 * kRows];
  DeltaRuleArgs args{};
  args.scan = scan;
  args.q = in.rows[0].data();
  args.k = in.rows[1].data();
  args.v = in.rows[2].data();
  args.decay = in.rows[3].data();
  args.beta = in.rows[4].data();
  args.key_stride = kRows;
  args.decay_stride = kPerRow ? kRows : 1;
  args.beta_stride = 1;
  args.decay_per_row = kPerRow;
  args.scale = 0.5f;
  args.scratch = scratch;
  kernels.delta_rule(args);
}

void run_wkv7(const Kernels& kernels, const ScanInputs& in, const StateScan& scan) {
  Wkv7Args args{};
  args.scan = scan;
  args.r = in.rows[0].data();
  args.w = in.rows[1].data();
  args.k = in.rows[2].data();
  args.v = in.rows[3].data();
  args.a = in.rows[4].data();
  args.b = in.rows[5].data();
  kernels.wkv7(args);
}

template <bool kBonus>
void run_wkv6(const Kernels& kernels, const ScanInputs& in, const StateScan& scan) {
  Wkv6Args args{};
  args.scan = scan;
  args.r = in.rows[0].data();
  args.w = in.rows[1].data();
  args.k = in.rows[2].data();
  args.v = in.rows[3].data();
  args.u = kBonus ? in.rows[6].data() : nullptr;
  kernels.wkv6(args);
}

struct NamedScan {
  const char* name;
  ScanOf run;
};
constexpr NamedScan kScans[] = {{"ssm_scan", run_ssm_scan},
                                {"delta_rule", run_delta_rule<false>},
                                {"delta_rule, a decay per row", run_delta_rule<true>},
                                {"wkv7", run_wkv7},
                                {"wkv6", run_wkv6<false>},
                                {"wkv6 with a bonus", run_wkv6<true>}};

/// Destination of the state.
enum class StateGoes { InPlace, ToAnotherBlock };

struct ScanResult {
  std::vector<float> out, state;
  bool operator==(const ScanResult&) const = default;
};

ScanResult scan_tile(const Kernels& kernels, const NamedScan& scan, uint32_t width,
                     uint32_t num_tokens, StateGoes where) {
  const ScanInputs inputs;
  StateTileValues before = inputs.before;
  StateTileValues after{};
  for (float& v : after.values) v = 1e9f;  // values of another text, which must not be read
  ScanResult result;
  result.out.resize(kTokens * kStateLanes);
  StateScan args{};
  args.before = before.values;
  args.state = where == StateGoes::InPlace ? before.values : after.values;
  args.width = width;
  args.rows = kRows;
  args.num_tokens = num_tokens;
  args.out = result.out.data();
  args.out_stride = kStateLanes;
  scan.run(kernels, inputs, args);
  result.state.assign(args.state, args.state + kRows * width);
  if (where != StateGoes::InPlace) {
    for (uint64_t i = 0; i < kRows * width; ++i) {
      EXPECT_EQ(before.values[i], inputs.before.values[i]) << "the state before was written, " << i;
    }
  }
  return result;
}

class StateKernel : public testing::TestWithParam<const char*> {
 protected:
  const Kernels* kernels_ = choose_kernels(GetParam());
  void SetUp() override {
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine cannot run " << GetParam();
  }
};

TEST_P(StateKernel, WritesTheSameBitsToAnotherBlock) {
  for (const NamedScan& scan : kScans) {
    for (const uint32_t width : {5u, 16u, 23u, 32u}) {
      for (const uint32_t num_tokens : {1u, 3u}) {
        SCOPED_TRACE(std::string(scan.name) + ", width " + std::to_string(width) + ", tokens " +
                     std::to_string(num_tokens));
        EXPECT_EQ(scan_tile(*kernels_, scan, width, num_tokens, StateGoes::ToAnotherBlock),
                  scan_tile(*kernels_, scan, width, num_tokens, StateGoes::InPlace));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, StateKernel, testing::Values("portable", "avx2", "avx512", "neon"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace tenon::cpu
