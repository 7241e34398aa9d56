// Recurrences on one core, over the state of one layer: selective scan (mamba2-1.3b, 64 heads of 64
// x 128), delta rule (qwen3.5, 32 heads of 128 x 128), wkv7 and wkv6 (rwkv7-1.5b and rwkv6-1.6b, 32
// heads of 64 x 64). 1 token is decode, with layers in turn so that each state comes from memory;
// bytes/s counts each value once read and once written. Many tokens are a slice of a prompt.
//
//   build-bench/bin/bench_state_kernels --benchmark_filter=avx512
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/state_tiles.h"

namespace tenon::cpu {
namespace {

/// Small random values; untouched pages and denormals would distort the time.
std::vector<float> values(uint64_t count, float size) {
  std::vector<float> out(count);
  uint32_t state = 1;
  for (float& v : out) {
    state = state * 1664525u + 1013904223u;
    v = size * (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
  }
  return out;
}

/// States of layers used in turn, and the result of a step.
struct Layers {
  Layers(const StateTiles& shape, uint32_t tokens)
      : tiles(shape),
        layer_values(shape.heads * shape.rows * shape.lanes),
        num_layers(tokens == 1 ? kAllBytes / (layer_values * sizeof(float)) : 1),
        states(values(num_layers * layer_values, 0.1f)),
        out(tokens * shape.heads * shape.lanes) {}

  static constexpr uint64_t kAllBytes = uint64_t{256} << 20;
  StateTiles tiles;
  uint64_t layer_values, num_layers;
  std::vector<float> states, out;
};

/// Calls run(scan, tile) for all tiles of a layer, like a step.
void measure(benchmark::State& state, const StateTiles& tiles,
             const std::function<void(const StateScan&, const StateTile&)>& run) {
  const auto tokens = static_cast<uint32_t>(state.range(0));
  Layers layers(tiles, tokens);
  uint64_t layer = 0;
  for (auto _ : state) {
    float* values = layers.states.data() + layer * layers.layer_values;
    layer = (layer + 1) % layers.num_layers;
    for (uint64_t i = 0; i < tiles.count(); ++i) {
      const StateTile tile = tiles.tile(i);
      run({.before = values + tile.offset,
           .state = values + tile.offset,
           .width = tile.width,
           .rows = tiles.rows,
           .num_tokens = tokens,
           .out = layers.out.data() + tile.head * tiles.lanes + tile.first_lane,
           .out_stride = tiles.heads * tiles.lanes},
          tile);
    }
    benchmark::DoNotOptimize(layers.out.data());
    benchmark::ClobberMemory();
  }
  const auto rate = [](double per_iteration) {
    return benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["tokens/s"] = rate(tokens);
  if (tokens == 1) {
    state.counters["bytes/s"] =
        rate(2.0 * static_cast<double>(layers.layer_values) * sizeof(float));
  }
}

void ssm_scan(benchmark::State& state, const Kernels& kernels) {
  constexpr uint32_t kHeads = 64, kP = 64, kSize = 128;
  const auto tokens = static_cast<uint64_t>(state.range(0));
  const StateTiles tiles{kHeads, kSize, kP};
  const std::vector<float> x = values(tokens * kHeads * kP, 1), b = values(tokens * kSize, 1),
                           c = values(tokens * kSize, 1), d = values(kHeads, 1);
  const std::vector<float> dt(tokens * kHeads, 0.1f), a(kHeads, -1.0f);
  measure(state, tiles, [&](const StateScan& scan, const StateTile& tile) {
    SsmScanArgs args{};
    args.scan = scan;
    args.one_decay = true;
    args.x = x.data() + tile.head * kP + tile.first_lane;
    args.dt = dt.data() + tile.head;
    args.a = a.data() + tile.head;
    args.b = b.data();
    args.c = c.data();
    args.skip = d.data() + tile.head;
    args.dt_stride = args.a_stride = kHeads;
    args.b_stride = kSize;
    kernels.ssm_scan(args);
  });
}

void delta_rule(benchmark::State& state, const Kernels& kernels, bool per_key) {
  constexpr uint32_t kHeads = 32, kKeyHeads = 16, kDim = 128;
  const auto tokens = static_cast<uint64_t>(state.range(0));
  const std::vector<float> q = values(tokens * kKeyHeads * kDim, 0.1f),
                           k = values(tokens * kKeyHeads * kDim, 0.1f),
                           v = values(tokens * kHeads * kDim, 1);
  const std::vector<float> decay(tokens * kHeads * kDim, -0.1f), beta(tokens * kHeads, 0.5f);
  std::vector<float> scratch(2 * kDim);
  measure(state, {kHeads, kDim, kDim}, [&](const StateScan& scan, const StateTile& tile) {
    DeltaRuleArgs args{};
    args.scan = scan;
    args.q = q.data() + tile.head % kKeyHeads * kDim;
    args.k = k.data() + tile.head % kKeyHeads * kDim;
    args.v = v.data() + tile.head * kDim + tile.first_lane;
    args.decay = decay.data() + tile.head;
    args.beta = beta.data() + tile.head;
    args.key_stride = kKeyHeads * kDim;
    args.decay_stride = per_key ? kHeads * kDim : kHeads;
    args.beta_stride = kHeads;
    args.decay_per_row = per_key;
    args.scale = 0.1f;
    args.scratch = scratch.data();
    kernels.delta_rule(args);
  });
}

void wkv7(benchmark::State& state, const Kernels& kernels) {
  constexpr uint32_t kHeads = 32, kDim = 64;
  const auto tokens = static_cast<uint64_t>(state.range(0));
  const uint64_t count = tokens * kHeads * kDim;
  const std::vector<float> r = values(count, 1), w(count, 0.9f), k = values(count, 0.1f),
                           v = values(count, 1), a = values(count, 0.1f), b = values(count, 0.1f);
  measure(state, {kHeads, kDim, kDim}, [&](const StateScan& scan, const StateTile& tile) {
    const uint64_t head = tile.head * kDim;
    Wkv7Args args{};
    args.scan = scan;
    args.r = r.data() + head;
    args.w = w.data() + head;
    args.k = k.data() + head;
    args.v = v.data() + head + tile.first_lane;
    args.a = a.data() + head;
    args.b = b.data() + head;
    kernels.wkv7(args);
  });
}

void wkv6(benchmark::State& state, const Kernels& kernels) {
  constexpr uint32_t kHeads = 32, kDim = 64;
  const auto tokens = static_cast<uint64_t>(state.range(0));
  const uint64_t count = tokens * kHeads * kDim;
  const std::vector<float> r = values(count, 1), w(count, 0.9f), k = values(count, 0.1f),
                           v = values(count, 1), u = values(kHeads * kDim, 1);
  measure(state, {kHeads, kDim, kDim}, [&](const StateScan& scan, const StateTile& tile) {
    const uint64_t head = tile.head * kDim;
    Wkv6Args args{};
    args.scan = scan;
    args.r = r.data() + head;
    args.w = w.data() + head;
    args.k = k.data() + head;
    args.v = v.data() + head + tile.first_lane;
    args.u = u.data() + head;
    kernels.wkv6(args);
  });
}

/// Convolution before qwen3.5's rule: 8,192 columns, 4 taps.
void conv(benchmark::State& state, const Kernels& kernels) {
  constexpr uint64_t kColumns = 8192;
  constexpr uint32_t kTaps = 4;
  const auto tokens = static_cast<uint64_t>(state.range(0));
  const std::vector<float> x = values(tokens * kColumns, 1), weight = values(kTaps * kColumns, 1);
  std::vector<float> kept = values((kTaps - 1) * kColumns, 1), out(tokens * kColumns);
  ConvArgs args{};
  args.state = kept.data();
  args.taps = kTaps;
  args.num_tokens = static_cast<uint32_t>(tokens);
  args.columns = args.stride = kColumns;
  args.x = x.data();
  args.weight = weight.data();
  args.out = out.data();
  for (auto _ : state) {
    kernels.conv(args);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.counters["tokens/s"] = benchmark::Counter(static_cast<double>(tokens),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon;
  for (const char* isa : {"portable", "avx2", "avx2_vnni", "avx512", "neon", "neon_i8mm"}) {
    const cpu::Kernels* kernels = cpu::choose_kernels(isa);
    if (kernels == nullptr) continue;
    const auto add = [&](const char* name, std::function<void(benchmark::State&)> run) {
      benchmark::RegisterBenchmark((std::string(isa) + "/" + name).c_str(), std::move(run))
          ->Arg(1)
          ->Arg(256);
    };
    add("ssm_scan", [kernels](benchmark::State& s) { cpu::ssm_scan(s, *kernels); });
    add("delta_rule", [kernels](benchmark::State& s) { cpu::delta_rule(s, *kernels, false); });
    add("delta_rule_per_key",
        [kernels](benchmark::State& s) { cpu::delta_rule(s, *kernels, true); });
    add("wkv7", [kernels](benchmark::State& s) { cpu::wkv7(s, *kernels); });
    add("wkv6", [kernels](benchmark::State& s) { cpu::wkv6(s, *kernels); });
    add("conv", [kernels](benchmark::State& s) { cpu::conv(s, *kernels); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
