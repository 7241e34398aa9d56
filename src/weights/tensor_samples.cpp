#include "weights/tensor_samples.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

constexpr uint32_t kSamples = 2;

}  // namespace

TensorSamples::TensorSamples(const ModelFile& file)
    : file_(file),
      claimed_(file.tensors().size()),
      samples_(file.tensors().size() * kSamples * kSampleBytes) {}

TensorSamples::Place TensorSamples::place(uint32_t tensor, uint32_t sample) const {
  const uint64_t whole = file_.tensors()[tensor].bytes;
  const uint64_t bytes = std::min(kSampleBytes, whole);
  const uint64_t begin = uint64_t{tensor} * kSamples * kSampleBytes;
  return {sample == 0 ? 0 : (whole - bytes) / 2, bytes, begin + sample * bytes};
}

bool TensorSamples::claim(uint32_t tensor) {
  if (claimed_[tensor]) return false;
  claimed_[tensor] = true;
  return true;
}

void TensorSamples::note(uint32_t tensor, uint64_t offset,
                         std::span<const std::byte> bytes) noexcept {
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    const Place at = place(tensor, sample);
    const uint64_t first = std::max(at.offset, offset);
    const uint64_t last = std::min(at.offset + at.bytes, offset + bytes.size());
    if (first >= last) continue;
    std::memcpy(samples_.data() + at.begin + (first - at.offset), bytes.data() + (first - offset),
                last - first);
  }
}

void TensorSamples::read_rest() {
  for (uint32_t tensor = 0; tensor < claimed_.size(); ++tensor) {
    if (claimed_[tensor]) continue;
    for (uint32_t sample = 0; sample < kSamples; ++sample) {
      const Place at = place(tensor, sample);
      file_.read(file_.tensors()[tensor], at.offset,
                 std::span(samples_).subspan(at.begin, at.bytes));
    }
  }
}

std::span<const std::byte> TensorSamples::of(uint32_t tensor) const {
  const Place first = place(tensor, 0);
  return std::span(samples_).subspan(first.begin, kSamples * first.bytes);
}

}  // namespace tenon
