// Candidates: memory, the maximum, weights.
#include "sampler/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace tenon {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// The largest of n >= 0 values, none of them NaN; -inf for none. Eight lanes, since one chain of
/// maxima would wait four cycles for each value.
float largest(const float* x, size_t n) {
  float lanes[8];
  std::fill_n(lanes, 8, kMasked);
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t lane = 0; lane < 8; ++lane) lanes[lane] = std::max(lanes[lane], x[i + lane]);
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes, lanes + 8);
}

}  // namespace

void Candidates::reserve(size_t vocab) {
  if (vocab <= capacity_) return;
  constexpr size_t kArrays = 5;
  if (vocab > size_t{std::numeric_limits<int32_t>::max()}) {
    fail(Code::Limit, "sampler: {} logits are more than token ids", vocab);
  }
  Buffer memory(system_, vocab * kArrays * sizeof(float), "sampler candidates");
  memory_ = std::move(memory);
  std::byte* next = memory_.data();
  const auto take = [&next, vocab] {
    std::byte* const part = next;
    next += vocab * sizeof(float);
    return part;
  };
  own_ = reinterpret_cast<float*>(take());
  weights_ = reinterpret_cast<float*>(take());
  ids_ = reinterpret_cast<int32_t*>(take());
  indices_ = reinterpret_cast<uint32_t*>(take());
  counters_ = reinterpret_cast<uint32_t*>(take());
  std::memset(counters_, 0, vocab * sizeof(uint32_t));
  capacity_ = vocab;
}

void Candidates::assign(std::span<const float> logits) {
  if (logits.empty()) fail(Code::State, "sampler: no logits");
  bool finite = true;
  for (const float x : logits) finite &= x <= std::numeric_limits<float>::max();
  if (!finite) fail(Code::State, "sampler: non-finite logits");
  reserve(logits.size());
  logits_ = logits.data();
  size_ = logits.size();
  all_ = true;
}

std::span<float> Candidates::writable_logits() {
  if (logits_ != own_) {
    std::memcpy(own_, logits_, size_ * sizeof(float));
    logits_ = own_;
  }
  return {own_, size_};
}

float Candidates::max_logit() const {
  const float max = largest(logits_, size_);
  if (max == kMasked) fail(Code::State, "sampler: all tokens masked");
  return max;
}

size_t Candidates::argmax() const {
  const float max = max_logit();
  return static_cast<size_t>(std::find(logits_, logits_ + size_, max) - logits_);
}

std::span<const float> Candidates::weights() {
  const float max = max_logit();
  for (size_t i = 0; i < size_; ++i) weights_[i] = std::exp(logits_[i] - max);
  return {weights_, size_};
}

}  // namespace tenon
