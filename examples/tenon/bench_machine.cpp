#include "bench_machine.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "host.h"
#include "stopwatch.h"

namespace tenon_program {
namespace {

// Minimum block: less than twice the last-level cache would measure the cache.
constexpr size_t kLeastBlock = size_t{256} << 20;
constexpr size_t kLargestBlock = size_t{1} << 30;
constexpr int kPasses = 9;

/// Sums the words in [data, data + size), eight vectors of 32 bytes at a time, so that the loop
/// waits only for memory.
uint64_t read_all(const char* data, size_t size) {
  using Vector [[gnu::vector_size(32), gnu::may_alias]] = uint64_t;
  Vector sums[8] = {};
  for (size_t at = 0; at + 256 <= size; at += 256) {
    __builtin_prefetch(data + at + 2048);
    __builtin_prefetch(data + at + 2048 + 64);
    __builtin_prefetch(data + at + 2048 + 128);
    __builtin_prefetch(data + at + 2048 + 192);
    for (int i = 0; i < 8; ++i) sums[i] += *reinterpret_cast<const Vector*>(data + at + 32 * i);
  }
  uint64_t sum = 0;
  for (const Vector& v : sums) sum += v[0] + v[1] + v[2] + v[3];
  return sum;
}

size_t block_bytes() { return std::clamp(2 * last_cache_bytes(), kLeastBlock, kLargestBlock); }

/// Calls work(i) on `threads` threads in parallel.
template <typename Work>
void on_threads(uint32_t threads, Work work) {
  std::vector<std::thread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back(work, i);
  work(0u);
  for (std::thread& other : others) other.join();
}

}  // namespace

double stream_read_rate(uint32_t threads) {
  const size_t size = block_bytes();
  const HugeBlock block(size);
  const size_t share = size / threads / 4096 * 4096;
  std::vector<uint64_t> sums(threads);
  std::vector<double> rates;
  // Pass 0 writes every page, since untouched pages share one page of zeros.
  for (int pass = 0; pass <= kPasses; ++pass) {
    const auto start = Clock::now();
    on_threads(threads, [&](uint32_t i) {
      char* mine = block.data() + i * share;
      if (pass == 0) {
        std::memset(mine, static_cast<int>(i + 1), share);
      } else {
        sums[i] += read_all(mine, share);
      }
    });
    const double seconds = seconds_since(start);
    if (pass > 0) rates.push_back(static_cast<double>(share * threads) / seconds);
  }
  // Keep the compiler from dropping the sums.
  volatile uint64_t sink = 0;
  for (const uint64_t sum : sums) sink = sink + sum;
  std::nth_element(rates.begin(), rates.begin() + kPasses / 2, rates.end());
  return rates[kPasses / 2];
}

double RecentStreamRate::get(uint32_t threads) {
  constexpr std::chrono::seconds kFresh(30);
  if (rate_ == 0 || threads != threads_ || Clock::now() - when_ > kFresh) {
    rate_ = stream_read_rate(threads);
    threads_ = threads;
    when_ = Clock::now();
  }
  return rate_;
}

double core_frequency() {
#if defined(__x86_64__) || defined(__aarch64__)
  constexpr int64_t kAdditions = 16;
  constexpr int64_t kRounds = 1'000'000;
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    uint64_t x = 1;
    const auto start = Clock::now();
    for (int64_t i = 0; i < kRounds; ++i) {
#if defined(__x86_64__)
#define TENON_ADD "add %1, %0\n\t"
#else
#define TENON_ADD "add %0, %0, %1\n\t"
#endif
      // Use registers: processors fold chains of additions of constants.
      asm volatile(
          TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD
              TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD TENON_ADD
          : "+r"(x)
          : "r"(i)
          : "cc");
#undef TENON_ADD
    }
    const double seconds = seconds_since(start);
    best = std::max(best, static_cast<double>(kAdditions * kRounds) / seconds);
  }
  return best;
#else
  return 0;
#endif
}

}  // namespace tenon_program
