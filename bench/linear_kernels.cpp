// The linear kernels of one core: multiply-accumulates and bytes of weights per second, by format,
// instruction set and number of activation rows. 1 row is decode, 128 rows are prefill.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench
//   bench_linear_kernels build-bench/bin/bench_linear_kernels --benchmark_filter=q4_0
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/panels.h"
#include "quant/formats.h"

namespace tenon::cpu {
namespace {

constexpr uint64_t kDepth = 2048;
constexpr uint64_t kWeightRows = 1024;

/// A random weight [kWeightRows, kDepth] in packed form. All pages are written: untouched ones
/// would be one page of zeros in the cache.
struct Weight {
  explicit Weight(const FormatInfo& format) : layout(panel_format(format.id)) {
    const uint64_t bytes = *row_bytes(format, kDepth);
    packed.resize(packed_bytes(layout, format, kWeightRows, kDepth));
    // One panel of encoded rows, packed again and again: encoders are slow.
    std::mt19937 random(1);
    std::normal_distribution<float> values;
    std::vector<float> row(kDepth);
    std::vector<uint8_t> blocks(layout.panel_rows * bytes);
    for (uint32_t r = 0; r < layout.panel_rows; ++r) {
      for (float& v : row) v = values(random);
      format.encode_row(row.data(), blocks.data() + r * bytes, kDepth);
    }
    const PackedWeight weight{&layout, &format, kWeightRows, kDepth, packed.data()};
    for (uint64_t r = 0; r < kWeightRows; r += layout.panel_rows) {
      pack_rows(weight, r, layout.panel_rows, blocks.data());
    }
  }
  const PanelFormat& layout;
  std::vector<uint8_t> packed;
};

void run(benchmark::State& state, const Kernels& kernels, const FormatInfo& format) {
  const auto rows = static_cast<uint64_t>(state.range(0));
  const Weight weight(format);
  std::vector<float> x(rows * kDepth, 0.5f), y(rows * kWeightRows);
  std::vector<float> tile(kTileDepth * kFloatPanelRows), sums(rows * kFloatPanelRows);
  std::vector<int8_t> q(x.size());
  std::vector<float> d(x.size() / kScaleBlock), scaled_sums(d.size());
  LinearArgs args{};
  args.weights = weight.packed.data();
  args.panel_bytes = panel_bytes(weight.layout, kDepth);
  args.num_panels = kWeightRows / weight.layout.panel_rows;
  args.weight_rows = kWeightRows;
  args.depth = kDepth;
  args.num_rows = rows;
  args.quantised = {q.data(), d.data(), scaled_sums.data(), kDepth};
  args.x = x.data();
  args.y = y.data();
  args.y_stride = kWeightRows;
  args.tile = tile.data();
  args.sums = sums.data();
  args.decode_row = format.decode_row;
  args.row_bytes = *row_bytes(format, kDepth);
  args.block_values = format.block_values;
  args.block_bytes = format.block_bytes;
  for (uint64_t t = 0; t < rows; ++t) {
    kernels.quantise(x.data() + t * kDepth, args.quantised, t, 0, kDepth);
  }
  for (auto _ : state) {
    kernels.linear[static_cast<uint32_t>(weight.layout.kind)](args);
    benchmark::DoNotOptimize(y.data());
  }
  const auto rate = [&](uint64_t per_iteration) {
    return benchmark::Counter(static_cast<double>(per_iteration),
                              benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["MAC/s"] = rate(rows * kWeightRows * kDepth);
  state.counters["bytes/s"] = rate(weight.packed.size());
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon;
  for (const char* isa : {"portable", "avx2", "avx512"}) {
    const cpu::Kernels* kernels = cpu::choose_kernels(isa);
    if (kernels == nullptr) continue;
    for (const FormatInfo& format : kFormats) {
      // Without a kernel of its own a format is decoded: one of them stands for all.
      const bool packed = cpu::panel_format(format.id).kind != cpu::PanelKind::Raw;
      if (!packed && format.id != Format::IQ4_XS) continue;
      const std::string name = std::string(isa) + "/" + format.name;
      benchmark::RegisterBenchmark(
          name.c_str(),
          [kernels, &format](benchmark::State& state) { cpu::run(state, *kernels, format); })
          ->Arg(1)
          ->Arg(8)
          ->Arg(128);
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
