#include "random_model/random_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon {
namespace {

// Values copied at once: at least the largest block, and enough to make a draw cheap.
constexpr uint64_t kRunValues = 256;

/// Runs in a bank: enough to make equal runs in a matrix rare. Fewer for encoders that search a
/// grid of points, which take milliseconds per run.
uint64_t runs_of(Format format) {
  constexpr std::pair<Format, uint64_t> kSlow[] = {
      {Format::IQ1_S, 32}, {Format::IQ1_M, 32},   {Format::IQ2_XXS, 64}, {Format::IQ2_XS, 64},
      {Format::IQ2_S, 64}, {Format::IQ3_XXS, 64}, {Format::IQ3_S, 64},
  };
  for (const auto& [slow, runs] : kSlow) {
    if (slow == format) return runs;
  }
  return 1024;
}

}  // namespace

float SplitMix::normal() {
  constexpr int64_t kMean = 4 * 65535;  // mean of the sum of eight numbers in 0..65535
  constexpr float kInverseDeviation = 1.0f / 53509.9f;  // sqrt(8 * (65536^2 - 1) / 12)
  int64_t sum = 0;
  for (int half = 0; half < 2; ++half) {
    const uint64_t bits = next();
    for (int shift = 0; shift < 64; shift += 16)
      sum += static_cast<int64_t>(bits >> shift & 0xffff);
  }
  return static_cast<float>(sum - kMean) * kInverseDeviation;
}

RandomBlocks::RandomBlocks(const FormatInfo& format, float deviation, uint64_t seed)
    : block_bytes_(format.block_bytes),
      run_bytes_(kRunValues / format.block_values * format.block_bytes),
      num_starts_((runs_of(format.id) - 1) * kRunValues / format.block_values + 1),
      bank_(runs_of(format.id) * run_bytes_) {
  SplitMix random(seed);
  float values[kRunValues];
  for (uint64_t run = 0; run < runs_of(format.id); ++run) {
    for (float& value : values) value = random.normal() * deviation;
    format.encode_row(values, bank_.data() + run * run_bytes_, kRunValues);
  }
}

void RandomBlocks::fill(SplitMix& random, std::span<std::byte> out) const {
  while (!out.empty()) {
    // Scales the high bits, without a division. num_starts_ is far below 2^32.
    const uint64_t start = (random.next() >> 32) * num_starts_ >> 32;
    const uint64_t bytes = std::min<uint64_t>(run_bytes_, out.size());
    std::memcpy(out.data(), bank_.data() + start * block_bytes_, bytes);
    out = out.subspan(bytes);
  }
}

}  // namespace tenon
