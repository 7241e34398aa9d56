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

  /// Says that all bytes of a tensor will be noted; false when that was said before. One thread.
  bool claim(uint32_t tensor);
  /// `bytes` at `offset` of a claimed tensor were loaded. Concurrent calls for disjoint bytes.
  void note(uint32_t tensor, uint64_t offset, std::span<const std::byte> bytes) noexcept;
  /// Reads the samples of the tensors that were not claimed. Throws as ModelFile::read.
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

  const ModelFile& file_;
  std::vector<bool> claimed_;       // [tensors]
  std::vector<std::byte> samples_;  // [tensors, 2, kSampleBytes]
};

}  // namespace tenon
