// Tokens that may still be drawn, with their logits, in ascending order of id. Sampler files decide
// which to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/buffer.h"

namespace tenon {

/// The largest logits of a row, as listed by a device (tenon_draw, kind CANDIDATES).
struct ListedLogits {
  std::span<const int32_t> tokens;  ///< [n >= 1] by descending logit, then ascending id
  std::span<const float> logits;    ///< [n] logits of tokens, finite
  uint64_t vocab;  ///< size of the row; unlisted tokens come after the last one listed
};

/// Starts as a view of the caller's logits, and copies them when a sampler first changes or drops
/// one. `assign` allocates all memory if the vocabulary is larger than any before.
/// Listed logits lack the rest of the row at first. A sampler that keeps a prefix in the order of
/// logits says so (`leave_after`, `leave_below`). Then either the rest is known to go, or the list
/// was too short and no token can be drawn from it.
/// Candidates never change places. So sums, and with them draws, have one order, and ties fall to
/// the lower id without a rule.
class Candidates {
 public:
  explicit Candidates(std::shared_ptr<System> system) : system_(std::move(system)) {}

  /// Takes all tokens of `logits` [vocab] f32, which must outlive the use; -inf means masked.
  /// Throws State for an empty vocabulary, NaN or +inf; NoMemory.
  void assign(std::span<const float> logits);
  /// Takes the listed tokens. Throws State for an empty list and for NaN or infinite logits;
  /// NoMemory.
  void assign(const ListedLogits& listed);

  /// True if unlisted tokens may remain; their logits are at most those listed.
  [[nodiscard]] bool is_partial() const { return is_partial_; }
  /// Announces that only candidates up to `index` in the order of logits (descending, then by id)
  /// stay. Remains partial only if unlisted tokens may precede it.
  void leave_after(size_t index);
  /// Announces that only candidates with logits of at least `limit` stay.
  void leave_below(double limit);

  /// Tokens in the row.
  [[nodiscard]] size_t vocab() const { return vocab_; }
  /// Index of the candidate with this token, if any.
  [[nodiscard]] std::optional<size_t> index_of(int32_t token) const;
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] std::span<const float> logits() const { return {logits_, size_}; }
  [[nodiscard]] int32_t id(size_t index) const {
    return all_ ? static_cast<int32_t>(index) : ids_[index];
  }

  /// Logits to change in place.
  std::span<float> writable_logits();
  /// The largest logit. Throws State "all tokens masked" if it is -inf.
  [[nodiscard]] float max_logit() const;
  /// The first candidate with the largest logit. Throws like max_logit.
  [[nodiscard]] size_t argmax() const;
  /// exp(logit - max_logit) per candidate, in memory of this object; valid until the next call.
  std::span<const float> weights();
  /// Scratch for size() candidate indices; contents undefined.
  std::span<uint32_t> index_scratch() { return {indices_, size_}; }
  /// Memory of index_scratch(), as scratch for an index per token of the row.
  std::span<uint32_t> vocab_scratch() { return {indices_, vocab_}; }
  /// Scratch for vocab counters, all zero; users leave them zero.
  std::span<uint32_t> zeroed_counters() { return {counters_, capacity_}; }

  /// Keeps the candidates i with keep(i), in order. Calls `keep` for i = 0, 1, ...; it may read
  /// logits()[i] and later, also through a span taken before.
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

  /// Keeps the candidates with these indices.
  void keep_only(std::span<const uint32_t> ascending);

 private:
  void reserve(size_t vocab);

  std::shared_ptr<System> system_;
  Buffer memory_;
  size_t capacity_ = 0;
  size_t size_ = 0;
  size_t vocab_ = 0;
  bool is_partial_ = false;
  float rest_logit_ = 0.0f;  // is_partial_: all unlisted tokens come after this logit and token
  int32_t rest_token_ = 0;
  bool all_ = true;  // ids are 0..size_-1, and ids_ is not filled
  mutable bool max_is_known_ = false;
  mutable float max_ = 0.0f;
  const float* logits_ = nullptr;  // [size_] the caller's logits, or own_
  // Parts of memory_, [capacity_] each.
  float* own_ = nullptr;
  float* weights_ = nullptr;
  int32_t* ids_ = nullptr;
  uint32_t* indices_ = nullptr;
  uint32_t* counters_ = nullptr;
};

}  // namespace tenon
