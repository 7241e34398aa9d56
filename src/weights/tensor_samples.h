// A few bytes of each tensor as they were loaded, to tell models apart. What is made of them is the
// model's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file/model_file.h"

namespace tenon {

/// Two samples of each tensor: its first bytes and those in its middle. They are taken from what
/// the loader has in its hands, so they are of the weights in use, whatever becomes of the file.
class TensorSamples {
 public:
  static constexpr uint64_t kSampleBytes = 256;

  /// The file must outlive it.
  explicit TensorSamples(const ModelFile& file);

  /// Says that `count` bytes at `offset` of a tensor will be noted; false when no sample is among
  /// them, or they were claimed before. One thread.
  bool claim(uint32_t tensor, uint64_t offset, uint64_t count);
  /// `bytes` at `offset` of a tensor were loaded; they were claimed. Concurrent calls for disjoint
  /// bytes.
  void note(uint32_t tensor, uint64_t offset, std::span<const std::byte> bytes) noexcept;
  /// Reads what of the samples was not claimed: of tensors that the loader does not carry, or not as
  /// they stand in the file. Throws as ModelFile::read.
  void read_rest();

  /// The samples of a tensor, one after the other.
  [[nodiscard]] std::span<const std::byte> of(uint32_t tensor) const;

 private:
  struct Place {
    uint64_t offset;  // in the tensor
    uint64_t bytes;
    uint64_t begin;  // in samples_
  };
  [[nodiscard]] Place place(uint32_t tensor, uint32_t sample) const;
  /// The part of a sample that lies in `count` bytes at `offset` of its tensor; empty: none.
  [[nodiscard]] static Place within(const Place& sample, uint64_t offset, uint64_t count);

  const ModelFile& file_;
  std::vector<bool> claimed_;       // [tensors, 2, kSampleBytes]
  std::vector<std::byte> samples_;  // the same
};

}  // namespace tenon
