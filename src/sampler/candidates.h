// The tokens that may still be drawn, with their logits, always in order of token id. Which of them
// stay is decided by the sampler files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/buffer.h"

namespace tenon {

/// The largest logits of a row, as a device lists them (tenon_draw, kind CANDIDATES).
struct ListedLogits {
  std::span<const int32_t> tokens;  ///< [n >= 1] larger logits first, of equal ones the lower token
  std::span<const float> logits;    ///< [n] of them, finite
  uint64_t vocab;                   ///< of the row; the tokens not listed come after the last one
};

/// Starts as a view of the caller's logits; copies them when a sampler first changes or drops one.
/// All memory is allocated by `assign` when the vocabulary is larger than any before.
///
/// Of listed logits the rest is missing at first. A sampler that keeps only what comes before a place
/// in the order of logits says so (`leave_after`, `leave_below`): the rest is then known to go, or the
/// list did not reach that far, and a token cannot be drawn from it.
///
/// Candidates never change places, so the sum over them, and with it every draw, has one order, and
/// ties fall to the lower id without a rule of their own.
class Candidates {
 public:
  explicit Candidates(std::shared_ptr<System> system) : system_(std::move(system)) {}

  /// All tokens of `logits` [vocab] f32, which must outlive the use. -inf means masked. Throws
  /// State for an empty vocabulary, NaN or +inf; NoMemory.
  void assign(std::span<const float> logits);
  /// Those that are listed. Throws State for none and for NaN or infinite ones; NoMemory.
  void assign(const ListedLogits& listed);

  /// Whether there may be others, of no larger logit than those listed had.
  [[nodiscard]] bool is_partial() const { return is_partial_; }
  /// Only what comes no later than candidate `index`, larger logits first and of equal ones the lower
  /// token, is going to stay. Partial from then on only where others may come before it, too.
  void leave_after(size_t index);
  /// The same of candidates of at least `limit`.
  void leave_below(double limit);

  /// Tokens of the row.
  [[nodiscard]] size_t vocab() const { return vocab_; }
  /// The number of the candidate that is this token, if it is one.
  [[nodiscard]] std::optional<size_t> index_of(int32_t token) const;
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::span<const float> logits() const { return {logits_, size_}; }
  [[nodiscard]] int32_t id(size_t index) const {
    return all_ ? static_cast<int32_t>(index) : ids_[index];
  }

  /// The logits, to be changed in place.
  std::span<float> writable_logits();
  /// The largest logit. Throws State "all tokens masked" when it is -inf.
  [[nodiscard]] float max_logit() const;
  /// The first candidate with the largest logit. Throws like max_logit.
  [[nodiscard]] size_t argmax() const;
  /// exp(logit - max_logit) of each candidate, in memory of this object, valid until the next call.
  std::span<const float> weights();
  /// Room for size() candidate numbers, contents undefined.
  std::span<uint32_t> index_scratch() { return {indices_, size_}; }
  /// The same memory as room for a number for each token of the row.
  std::span<uint32_t> vocab_scratch() { return {indices_, vocab_}; }
  /// Room for vocab counters, all zero; each use leaves them zero.
  std::span<uint32_t> zeroed_counters() { return {counters_, capacity_}; }

  /// Keeps the candidates i for which keep(i), in order. `keep` is asked for i = 0, 1, ... and may
  /// read logits()[i] and what follows it, also through a span taken before.
  template <typename Keep>
  void keep_if(Keep keep) {
    float* const own = writable_logits().data();
    size_t kept = 0;
    for (size_t i = 0; i < size_; ++i) {
      if (!keep(i)) continue;
      ids_[kept] = id(i);
      own[kept] = own[i];
      ++kept;
    }
    all_ = false;
    size_ = kept;
  }

  /// Keeps the candidates of these numbers.
  void keep_only(std::span<const uint32_t> ascending);

 private:
  void reserve(size_t vocab);

  std::shared_ptr<System> system_;
  Buffer memory_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t vocab_ = 0;
  bool is_partial_ = false;
  float rest_logit_ = 0.0f;  // is_partial_: all others come after this logit and token
  int32_t rest_token_ = 0;
  bool all_ = true;  // ids are 0..size_-1, ids_ is not filled
  mutable bool max_is_known_ = false;
  mutable float max_ = 0.0f;
  const float* logits_ = nullptr;  // [size_] the caller's or own_
  // Parts of memory_, [capacity_] each.
  float* own_ = nullptr;
  float* weights_ = nullptr;
  int32_t* ids_ = nullptr;
  uint32_t* indices_ = nullptr;
  uint32_t* counters_ = nullptr;
};

}  // namespace tenon
