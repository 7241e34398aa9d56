// Row kernels between the matrices: RMS norm, rope, gated activation and quantisation of
// activations, by instruction set and width. A decoded token passes about a hundred of them.
//
//   build-bench/bin/bench_row_kernels --benchmark_filter=avx2/rms_norm
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"
#include "tenon/backend.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kHeadDim = 64;

/// Random values around 1; untouched pages and denormals would distort the time.
std::vector<float> values(uint64_t count) {
  std::vector<float> out(count);
  uint32_t state = 1;
  for (float& v : out) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return out;
}

void report(benchmark::State& state, uint64_t width) {
  state.counters["values/s"] =
      benchmark::Counter(static_cast<double>(width), benchmark::Counter::kIsIterationInvariantRate);
}

void rms_norm(benchmark::State& state, const Kernels& kernels) {
  const auto width = static_cast<uint64_t>(state.range(0));
  const std::vector<float> x = values(width), weight = values(width);
  std::vector<float> y(width);
  for (auto _ : state) {
    kernels.rms_norm(x.data(), weight.data(), 1e-5f, y.data(), width);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  report(state, width);
}

void rope(benchmark::State& state, const Kernels& kernels, uint32_t style) {
  const auto width = static_cast<uint64_t>(state.range(0));
  const std::vector<float> x = values(width), angles = values(kHeadDim);
  std::vector<float> y(width);
  for (auto _ : state) {
    for (uint64_t head = 0; head + kHeadDim <= width; head += kHeadDim) {
      kernels.rope(style, x.data() + head, angles.data(), kHeadDim / 2, y.data() + head, kHeadDim);
    }
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  report(state, width);
}

void glu(benchmark::State& state, const Kernels& kernels) {
  const auto width = static_cast<uint64_t>(state.range(0));
  const std::vector<float> gate = values(width), up = values(width);
  std::vector<float> y(width);
  for (auto _ : state) {
    kernels.glu({TENON_ACTIVATION_SILU, 1, 0, 0, 0}, gate.data(), up.data(), y.data(), width);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  report(state, width);
}

/// Quantises `width` values in `rows` rows to a form.
void quantise(benchmark::State& state, const Kernels& kernels, uint64_t rows, uint32_t form) {
  const auto width = static_cast<uint64_t>(state.range(0));
  const uint64_t columns = width / rows;
  const std::vector<float> x = values(width);
  std::vector<std::vector<float>> memory;
  QuantRows out{};
  out.num_rows = rows;
  make_quant_rows(out, rows, columns, form, kernels.reads_both, [&](auto*& array, uint64_t count) {
    memory.emplace_back(count * sizeof(*array) / sizeof(float));
    array = reinterpret_cast<std::remove_reference_t<decltype(array)>>(memory.back().data());
  });
  for (auto _ : state) {
    kernels.quantise(x.data(), columns, out, 0, rows, 0, columns);
    benchmark::DoNotOptimize(out);
    benchmark::ClobberMemory();
  }
  report(state, width);
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
          ->Arg(2048)
          ->Arg(8192);
    };
    add("rms_norm", [kernels](benchmark::State& s) { cpu::rms_norm(s, *kernels); });
    add("rope_adjacent",
        [kernels](benchmark::State& s) { cpu::rope(s, *kernels, TENON_ROPE_ADJACENT); });
    add("rope_halves",
        [kernels](benchmark::State& s) { cpu::rope(s, *kernels, TENON_ROPE_HALVES); });
    add("glu", [kernels](benchmark::State& s) { cpu::glu(s, *kernels); });
    add("quantise",
        [kernels](benchmark::State& s) { cpu::quantise(s, *kernels, 1, cpu::kActivationBytes); });
    add("quantise_64_rows",
        [kernels](benchmark::State& s) { cpu::quantise(s, *kernels, 64, cpu::kActivationBytes); });
    if (!kernels->fixed_bf16) continue;
    add("quantise_fixed",
        [kernels](benchmark::State& s) { cpu::quantise(s, *kernels, 1, cpu::kActivationFixed); });
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
