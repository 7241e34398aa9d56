#include "weights/tensor_samples.h"

#include <algorithm>
#include <cstring>

namespace tenon {
namespace {

constexpr uint32_t kSamples = 2;

}  // namespace

TensorSamples::TensorSamples(const ModelFile& file)
    : file_(file),
      claimed_(file.tensors().size() * kSamples * kSampleBytes),
      samples_(file.tensors().size() * kSamples * kSampleBytes) {}

TensorSamples::Place TensorSamples::place(uint32_t tensor, uint32_t sample) const {
  const uint64_t whole = file_.tensors()[tensor].bytes;
  const uint64_t bytes = std::min(kSampleBytes, whole);
  const uint64_t begin = uint64_t{tensor} * kSamples * kSampleBytes;
  return {sample == 0 ? 0 : (whole - bytes) / 2, bytes, begin + sample * bytes};
}

TensorSamples::Place TensorSamples::within(const Place& sample, uint64_t offset, uint64_t count) {
  const uint64_t first = std::max(sample.offset, offset);
  const uint64_t last = std::min(sample.offset + sample.bytes, offset + count);
  if (first >= last) return {0, 0, 0};
  return {first, last - first, sample.begin + (first - sample.offset)};
}

bool TensorSamples::claim(uint32_t tensor, uint64_t offset, uint64_t count) {
  bool any = false;
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    const Place part = within(place(tensor, sample), offset, count);
    for (uint64_t i = 0; i < part.bytes; ++i) {
      if (claimed_[part.begin + i]) return false;
    }
    any = any || part.bytes > 0;
  }
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    const Place part = within(place(tensor, sample), offset, count);
    std::fill_n(claimed_.begin() + static_cast<ptrdiff_t>(part.begin), part.bytes, true);
  }
  return any;
}

void TensorSamples::note(uint32_t tensor, uint64_t offset,
                         std::span<const std::byte> bytes) noexcept {
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    const Place part = within(place(tensor, sample), offset, bytes.size());
    if (part.bytes == 0) continue;
    std::memcpy(samples_.data() + part.begin, bytes.data() + (part.offset - offset), part.bytes);
  }
}

void TensorSamples::read_rest() {
  for (uint32_t tensor = 0; tensor < file_.tensors().size(); ++tensor) {
    for (uint32_t sample = 0; sample < kSamples; ++sample) {
      const Place all = place(tensor, sample);
      for (uint64_t i = 0; i < all.bytes;) {
        uint64_t end = i;
        while (end < all.bytes && !claimed_[all.begin + end]) ++end;
        if (end > i) {
          file_.read(file_.tensors()[tensor], all.offset + i,
                     std::span(samples_).subspan(all.begin + i, end - i));
        }
        i = end + 1;
      }
    }
  }
}

std::span<const std::byte> TensorSamples::of(uint32_t tensor) const {
  const Place first = place(tensor, 0);
  return std::span(samples_).subspan(first.begin, kSamples * first.bytes);
}

}  // namespace tenon
