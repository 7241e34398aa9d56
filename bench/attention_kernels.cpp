// Attention kernels on one core: multiply-accumulates and cache bytes per second, by cache type,
// instruction set, tokens in the tile and context. 1 token is decode (4 query heads of 64 per KV
// head, as in llama-1b), 32 tokens are a tile of prefill. "latent": 16 and 128 query heads over
// rows of 576, as in DeepSeek-V2-Lite and V3.
//
//   cmake -S . -B build-bench -G Ninja -DTENON_BENCH=ON && ninja -C build-bench
//   bench_attention_kernels build-bench/bin/bench_attention_kernels --benchmark_filter=avx512/f16
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/layouts/cache_block.h"

namespace tenon::cpu {
namespace {

constexpr uint32_t kBlockTokens = 32;

struct Geometry {
  uint32_t kind;
  uint32_t heads;
  uint32_t key_dim;
  uint32_t value_dim;
  /// Regions of a block (layers times KV heads), used in turn so that decode reads from memory.
  uint32_t areas;
};
constexpr Geometry kPlain = {TENON_CACHE_FULL, 4, 64, 64, 64};
constexpr Geometry kLatent16 = {TENON_CACHE_LATENT, 16, 576, 512, 16};
constexpr Geometry kLatent128 = {TENON_CACHE_LATENT, 128, 576, 512, 16};

struct NamedType {
  const char* name;
  uint32_t type;
};
constexpr NamedType kTypes[] = {{"f32", TENON_TYPE_F32},
                                {"f16", TENON_TYPE_F16},
                                {"int8", TENON_CACHE_INT8},
                                {"q4", TENON_CACHE_Q4}};

/// Zeroed memory aligned to cache lines, as in the backend.
class Lines {
 public:
  explicit Lines(uint64_t size_bytes) : memory_(size_bytes + kLine) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    data_ = memory_.data() + (kLine - address % kLine);
  }
  [[nodiscard]] uint8_t* data() const { return data_; }

 private:
  static constexpr uint64_t kLine = 64;
  std::vector<uint8_t> memory_;
  uint8_t* data_;
};

/// Cache of `context` random positions.
struct Cache {
  Cache(const Kernels& kernels, const CacheBlock& shape, uint32_t areas, uint32_t context)
      : bytes(shape.block_bytes(areas) * (context / kBlockTokens)) {
    std::mt19937 random(1);
    std::normal_distribution<float> values;
    std::vector<float> row(shape.key_dim);
    for (uint32_t b = 0; b < context / kBlockTokens; ++b) {
      blocks.push_back(bytes.data() + b * shape.block_bytes(areas));
    }
    for (uint32_t p = 0; p < context; ++p) {
      for (float& v : row) v = values(random);
      for (uint32_t area = 0; area < areas; ++area) {
        uint8_t* at = const_cast<uint8_t*>(blocks[p / kBlockTokens]) + area * shape.area_bytes();
        kernels.kv_write(row.data(), shape.latent ? nullptr : row.data(), shape, at,
                         p % kBlockTokens);
      }
    }
  }
  Lines bytes;
  std::vector<const uint8_t*> blocks;
};

void run(benchmark::State& state, const Kernels& kernels, const Geometry& g, uint32_t type) {
  const auto tokens = static_cast<uint32_t>(state.range(0));
  const auto context = static_cast<uint32_t>(state.range(1));
  const CacheBlock shape(
      tenon_cache_group{1, 1, g.key_dim, g.value_dim, type, kBlockTokens, g.kind, 0, 0, 0, 0});
  const Cache cache(kernels, shape, g.areas, context);
  std::mt19937 random(2);
  std::normal_distribution<float> values;
  std::vector<float> q(uint64_t{tokens} * g.heads * g.key_dim);
  std::vector<float> out(uint64_t{tokens} * g.heads * g.value_dim);
  const Lines scratch(attention_scratch_floats(uint64_t{tokens} * g.heads, shape) * sizeof(float));
  for (float& v : q) v = values(random);
  AttentionArgs args{.blocks = cache.blocks.data(),
                     .area_offset = 0,
                     .shape = shape,
                     .num_tokens = tokens,
                     .position = context - tokens,
                     .window = 0,
                     .heads = g.heads,
                     .first_span = 0,
                     .end_span = (context + kAttentionSpan - 1) / kAttentionSpan,
                     .q = q.data(),
                     .q_stride = uint64_t{g.heads} * g.key_dim,
                     .out = out.data(),
                     .out_stride = uint64_t{g.heads} * g.value_dim,
                     .scale = 0.125f,
                     .soft_cap = 0.0f,
                     .sinks = nullptr,
                     .partials = nullptr,
                     .scratch = reinterpret_cast<float*>(scratch.data())};
  uint64_t area = 0;
  for (auto _ : state) {
    args.area_offset = area * shape.area_bytes();
    area = (area + 1) % g.areas;
    kernels.attention[static_cast<uint32_t>(shape.type)](args);
    benchmark::DoNotOptimize(out.data());
  }
  const auto rate = [](double per_iteration) {
    return benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["MAC/s"] =
      rate((0.0 + g.key_dim + g.value_dim) * g.heads * tokens * (context - tokens / 2.0));
  state.counters["bytes/s"] =
      rate(static_cast<double>(shape.area_bytes()) * context / kBlockTokens);
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  using namespace tenon;
  for (const char* isa : {"portable", "avx2", "avx2_vnni", "avx512", "neon", "neon_i8mm"}) {
    const cpu::Kernels* kernels = cpu::choose_kernels(isa);
    if (kernels == nullptr) continue;
    for (const cpu::NamedType& type : cpu::kTypes) {
      const std::string name = std::string(isa) + "/" + type.name;
      benchmark::RegisterBenchmark(name.c_str(),
                                   [kernels, &type](benchmark::State& state) {
                                     cpu::run(state, *kernels, cpu::kPlain, type.type);
                                   })
          ->Args({1, 512})
          ->Args({1, 4096})
          ->Args({4, 1536})
          ->Args({8, 1536})
          ->Args({16, 1536})
          ->Args({32, 512})
          ->Args({32, 4096});
      for (const cpu::Geometry* latent : {&cpu::kLatent16, &cpu::kLatent128}) {
        benchmark::RegisterBenchmark((name + "/latent" + std::to_string(latent->heads)).c_str(),
                                     [kernels, latent, &type](benchmark::State& state) {
                                       cpu::run(state, *kernels, *latent, type.type);
                                     })
            ->Args({1, 4096})
            ->Args({latent->heads == 16 ? 4 : 1, 1024});
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
