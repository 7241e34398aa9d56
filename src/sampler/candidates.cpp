// Candidates: memory, the maximum, weights.
#include "sampler/candidates.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "sampler/candidates_memory.h"

namespace tenon {
namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

// Values compared in parallel: a single chain of maxima would wait four cycles per value.
constexpr size_t kLanes = 16;

/// The largest of the values; -inf if empty. Sets `bad` if any is NaN or +inf.
float largest(std::span<const float> values, bool& bad) {
  float max[kLanes];
  uint32_t wrong[kLanes] = {};  // whole words, so that the loop becomes vector instructions
  std::fill_n(max, kLanes, kMasked);
  const auto look = [&max, &wrong](float x, size_t lane) {
    max[lane] = max[lane] < x ? x : max[lane];
    wrong[lane] |= x <= std::numeric_limits<float>::max() ? 0u : 1u;
  };
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) look(values[i + lane], lane);
  }
  for (; i < values.size(); ++i) look(values[i], 0);
  bad = std::any_of(wrong, wrong + kLanes, [](uint32_t word) { return word != 0; });
  return *std::max_element(max, max + kLanes);
}

}  // namespace

void Candidates::reserve(size_t vocab) {
  if (vocab <= capacity_) return;
  if (vocab > size_t{std::numeric_limits<int32_t>::max()}) {
    fail(Code::Limit, "sampler: {} logits are more than token ids", vocab);
  }
  Buffer memory(system_, candidates_bytes(vocab), "sampler candidates");
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
  bool bad = false;
  max_ = largest(logits, bad);
  max_is_known_ = true;
  if (bad) fail(Code::State, "sampler: non-finite logits");
  reserve(logits.size());
  logits_ = logits.data();
  size_ = logits.size();
  vocab_ = size_;
  is_partial_ = false;
  all_ = true;
}

void Candidates::assign(const ListedLogits& listed) {
  if (listed.tokens.empty()) fail(Code::State, "sampler: no logits");
  bool bad = false;
  max_ = largest(listed.logits, bad);
  if (bad) fail(Code::State, "sampler: non-finite logits");
  max_is_known_ = true;
  vocab_ = std::max<size_t>(listed.vocab, listed.tokens.size());
  reserve(vocab_);
  size_ = listed.tokens.size();
  const std::span<uint32_t> order = index_scratch();
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&listed](uint32_t i) { return listed.tokens[i]; });
  for (size_t i = 0; i < size_; ++i) {
    ids_[i] = listed.tokens[order[i]];
    own_[i] = listed.logits[order[i]];
  }
  logits_ = own_;
  all_ = false;
  is_partial_ = size_ < vocab_;
  rest_logit_ = listed.logits.back();
  rest_token_ = listed.tokens.back();
}

void Candidates::leave_after(size_t index) {
  if (!is_partial_) return;
  const float logit = logits_[index];
  is_partial_ = logit != rest_logit_ ? logit < rest_logit_ : id(index) > rest_token_;
}

void Candidates::leave_below(double limit) {
  if (is_partial_) is_partial_ = limit <= rest_logit_;
}

std::optional<size_t> Candidates::index_of(int32_t token) const {
  if (token < 0) return std::nullopt;
  if (all_) {
    const auto index = static_cast<size_t>(token);
    return index < size_ ? std::optional(index) : std::nullopt;
  }
  const int32_t* const found = std::lower_bound(ids_, ids_ + size_, token);
  if (found == ids_ + size_ || *found != token) return std::nullopt;
  return static_cast<size_t>(found - ids_);
}

std::span<float> Candidates::writable_logits() {
  max_is_known_ = false;
  if (logits_ != own_) {
    std::memcpy(own_, logits_, size_ * sizeof(float));
    logits_ = own_;
  }
  return {own_, size_};
}

float Candidates::max_logit() const {
  if (!max_is_known_) {
    bool bad = false;
    max_ = largest(logits(), bad);
    max_is_known_ = true;
  }
  if (max_ == kMasked) fail(Code::State, "sampler: all tokens masked");
  return max_;
}

void Candidates::keep_only(std::span<const uint32_t> ascending) {
  // Writes never pass reads, since the indices ascend.
  for (size_t i = 0; i < ascending.size(); ++i) {
    ids_[i] = id(ascending[i]);
    own_[i] = logits_[ascending[i]];
  }
  logits_ = own_;
  all_ = false;
  size_ = ascending.size();
  max_is_known_ = false;
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
