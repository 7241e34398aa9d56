// A few bytes of each loaded tensor, to tell models apart. The model hashes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file/model_file.h"

namespace tenon {

/// Two samples per tensor: its first bytes and bytes from its middle. They are copied from loaded
/// bytes, so they belong to the weights in use, even if the file changes.
class TensorSamples {
 public:
  static constexpr uint64_t kSampleBytes = 256;

  /// The file must outlive it.
  explicit TensorSamples(const ModelFile& file);

  /// Announces note() for `count` bytes at `offset` of a tensor. False if they contain no sample,
  /// or were claimed before. One thread.
  bool claim(uint32_t tensor, uint64_t offset, uint64_t count);
  /// Stores the sampled part of claimed `bytes` at `offset` of a tensor. Safe to call concurrently
  /// for disjoint bytes.
  void note(uint32_t tensor, uint64_t offset, std::span<const std::byte> bytes) noexcept;
  /// Reads unclaimed samples from the file: of tensors that the loader converts or does not load.
  /// Throws like ModelFile::read.
  void read_rest();

  /// Both samples of a tensor, concatenated.
  [[nodiscard]] std::span<const std::byte> of(uint32_t tensor) const;

 private:
  struct Place {
    uint64_t offset;  // relative to the tensor
    uint64_t bytes;
    uint64_t begin;  // index in samples_
  };
  [[nodiscard]] Place place(uint32_t tensor, uint32_t sample) const;
  /// The part of a sample within `count` bytes at `offset` of its tensor; may be empty.
  [[nodiscard]] static Place within(const Place& sample, uint64_t offset, uint64_t count);

  const ModelFile& file_;
  std::vector<bool> claimed_;       // [tensors, 2, kSampleBytes]
  std::vector<std::byte> samples_;  // [tensors, 2, kSampleBytes]
};

}  // namespace tenon
