// Linear kernels: multiply-accumulates and weight bytes per second, by format, instruction set and
// number of activation rows.
//
//   core/ISA/FORMAT/ROWS    one core, weights in the second-level cache: 1 row is decode, 128 rows
//                           are prefill
//   memory/ISA/FORMAT       decode by two cores, each with its half of 256 MiB of weights; bytes as
//                           in memory, and as in the file
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench
//   bench_linear_kernels build-bench/bin/bench_linear_kernels --benchmark_filter=core/avx2/q4_0
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/panels.h"
#include "quant/formats.h"

namespace tenon::cpu {
namespace {

constexpr uint64_t kDepth = 2048;
constexpr uint64_t kCoreRows = 1024;
constexpr uint64_t kRowsAtOnce = 128;  // weight rows per call
constexpr uint64_t kMemoryBytes = 256 << 20;
constexpr uint64_t kHugePage = 2 << 20;

struct Free {
  void operator()(uint8_t* p) const { std::free(p); }
};

/// Random weight [rows, kDepth] in packed form, on large pages. Writes all pages, since untouched
/// pages share one page of zeros in the cache.
struct Weight {
  Weight(const FormatInfo& format, uint64_t weight_rows)
      : layout(panel_format(format.id)), rows(weight_rows) {
    // Repeat one panel of encoded rows, since encoders are slow.
    const uint64_t row_size = *row_bytes(format, kDepth);
    std::mt19937 random(1);
    std::normal_distribution<float> values;
    std::vector<float> row(kDepth);
    std::vector<uint8_t> blocks(layout.panel_rows * row_size);
    for (uint32_t r = 0; r < layout.panel_rows; ++r) {
      for (float& v : row) v = values(random);
      format.encode_row(row.data(), blocks.data() + r * row_size, kDepth);
    }
    const uint64_t panel = packed_bytes(layout, format, layout.panel_rows, kDepth);
    bytes = packed_bytes(layout, format, rows, kDepth);
    packed.reset(static_cast<uint8_t*>(
        std::aligned_alloc(kHugePage, (bytes + kHugePage) / kHugePage * kHugePage)));
    madvise(packed.get(), bytes, MADV_HUGEPAGE);
    const PackedWeight weight{&layout, &format, layout.panel_rows, kDepth, packed.get()};
    std::memset(packed.get(), 0, panel);
    pack_rows(weight, 0, layout.panel_rows, blocks.data());
    for (uint64_t p = panel; p < bytes; p += panel) {
      std::memcpy(packed.get() + p, packed.get(), panel);
    }
  }
  const PanelFormat& layout;
  uint64_t rows, bytes = 0;
  std::unique_ptr<uint8_t, Free> packed;
};

/// Activations and results of one thread.
struct Problem {
  Problem(const Kernels& kernels, const FormatInfo& format, const Weight& weight, uint64_t rows)
      : x(rows * kDepth, 0.5f), y(grouped_rows(rows) * weight.rows) {
    args.weights = weight.packed.get();
    args.panel_bytes = panel_bytes(weight.layout, kDepth);
    args.num_panels = weight.rows / weight.layout.panel_rows;
    args.weight_rows = weight.rows;
    args.depth = kDepth;
    args.num_rows = rows;
    args.quantised.num_rows = rows;
    const uint32_t form = activation_format(format.id, kDepth, kernels);
    make_quant_rows(args.quantised, rows, kDepth, form, kernels.reads_both,
                    [&](auto*& array, uint64_t count) {
                      array = take<std::remove_reference_t<decltype(*array)>>(count);
                    });
    args.x = x.data();
    args.x_stride = kDepth;
    args.y = y.data();
    args.y_stride = weight.rows;
    args.tile = take<float>(kTileDepth * kFloatPanelRows);
    args.chunk = take<float>(kChunkFloats);
    args.decode_row = format.decode_row;
    args.row_bytes = *row_bytes(format, kDepth);
    args.block_values = format.block_values;
    args.block_bytes = format.block_bytes;
    kernels.quantise(x.data(), kDepth, args.quantised, 0, rows, 0, kDepth);
  }
  /// Allocates memory aligned as in the backend.
  template <typename T>
  T* take(uint64_t count) {
    const uint64_t bytes = (count * sizeof(T) + 63) / 64 * 64;
    memory.emplace_back(static_cast<uint8_t*>(std::aligned_alloc(64, bytes)));
    std::memset(memory.back().get(), 0, bytes);
    return reinterpret_cast<T*>(memory.back().get());
  }
  LinearArgs args{};
  std::vector<float> x, y;
  std::vector<std::unique_ptr<uint8_t, Free>> memory;
};

benchmark::Counter rate(uint64_t per_iteration) {
  return {static_cast<double>(per_iteration), benchmark::Counter::kIsIterationInvariantRate};
}

void run_core(benchmark::State& state, const Kernels& kernels, const FormatInfo& format) {
  const auto rows = static_cast<uint64_t>(state.range(0));
  const Weight weight(format, kCoreRows);
  Problem problem(kernels, format, weight, rows);
  const uint64_t panels = kRowsAtOnce / weight.layout.panel_rows;
  problem.args.num_panels = panels;
  for (auto _ : state) {
    for (uint64_t row = 0; row < kCoreRows; row += kRowsAtOnce) {
      problem.args.first_panel = row / weight.layout.panel_rows;
      problem.args.y = problem.y.data() + row;
      kernels.linear[static_cast<uint32_t>(weight.layout.kind)](problem.args);
    }
    benchmark::DoNotOptimize(problem.y.data());
  }
  state.counters["MAC/s"] = rate(rows * kCoreRows * kDepth);
  state.counters["bytes/s"] = rate(weight.bytes);
}

void run_memory(benchmark::State& state, const Kernels& kernels, const FormatInfo& format,
                std::unique_ptr<Weight>& shared) {
  const auto threads = static_cast<uint64_t>(state.threads());
  const PanelFormat& layout = panel_format(format.id);
  const uint64_t panel = packed_bytes(layout, format, layout.panel_rows, kDepth);
  const auto rows = static_cast<uint64_t>(state.range(0));
  const uint64_t at_once = kRowsAtOnce / layout.panel_rows;
  const uint64_t panels = kMemoryBytes / panel / threads / at_once * at_once;
  if (state.thread_index() == 0) {
    shared = std::make_unique<Weight>(format, panels * threads * layout.panel_rows);
  }
  std::unique_ptr<Problem> problem;
  for (auto _ : state) {
    if (problem == nullptr) {  // all threads have begun, so the weight is ready
      state.PauseTiming();
      problem = std::make_unique<Problem>(kernels, format, *shared, rows);
      problem->args.num_panels = at_once;
      problem->args.y_stride = kRowsAtOnce;
      state.ResumeTiming();
    }
    const uint64_t first = static_cast<uint64_t>(state.thread_index()) * panels;
    for (uint64_t p = first; p < first + panels; p += at_once) {
      problem->args.first_panel = p;
      kernels.linear[static_cast<uint32_t>(layout.kind)](problem->args);
    }
    benchmark::DoNotOptimize(problem->y.data());
  }
  // Benchmark adds up the threads' counters; a rate per iteration would count the iterations of all
  // threads.
  const auto per_second = [&](uint64_t bytes) -> benchmark::Counter {
    return {static_cast<double>(state.iterations()) * static_cast<double>(bytes),
            benchmark::Counter::kIsRate};
  };
  state.counters["bytes/s"] = per_second(panels * panel);
  state.counters["file bytes/s"] =
      per_second(panels * layout.panel_rows * *row_bytes(format, kDepth));
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon;
  static std::unique_ptr<cpu::Weight> shared;
  for (const char* isa : {"portable", "avx2", "avx2_vnni", "avx512", "neon", "neon_i8mm"}) {
    const cpu::Kernels* kernels = cpu::choose_kernels(isa);
    if (kernels == nullptr) continue;
    for (const FormatInfo& format : kFormats) {
      if (!format.weight) continue;
      const std::string name = std::string(isa) + "/" + format.name;
      benchmark::RegisterBenchmark(
          ("core/" + name).c_str(),
          [kernels, &format](benchmark::State& state) { cpu::run_core(state, *kernels, format); })
          ->Arg(1)
          ->Arg(2)
          ->Arg(3)
          ->Arg(4)
          ->Arg(6)
          ->Arg(8)
          ->Arg(16)
          ->Arg(128);
      benchmark::RegisterBenchmark(("memory/" + name).c_str(),
                                   [kernels, &format](benchmark::State& state) {
                                     cpu::run_memory(state, *kernels, format, shared);
                                   })
          ->Arg(1)
          ->Arg(8)
          ->Arg(16)
          ->Threads(2)
          ->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
