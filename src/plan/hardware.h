// Facts about a machine that planning uses, and their measurement.
#pragma once

#include <array>
#include <cstdint>

#include "model/model.h"

namespace tenon {

/// Decode steps of 1, 2, 4, ... 128 sequences.
inline constexpr uint32_t kNumDecodeSizes = 8;

/// Speeds of `threads` threads together; 0 means unknown, and nothing is predicted from it.
struct Hardware {
  uint32_t threads = 0;
  uint64_t memory_bytes = 0;   ///< memory that the process may use, including what it holds now
  uint64_t process_bytes = 0;  ///< held besides weights, cache and scratch
  /// Bytes per second of decode steps at the beginning of texts: matrices in the file's formats,
  /// and states, read and written.
  std::array<double, kNumDecodeSizes> decode_bytes_per_second{};
  /// Multiply-accumulates per second in matrices while a prompt is computed.
  double prefill_multiplications_per_second = 0;
  /// Bytes of the KV cache per second that attention of decodes reads.
  double cache_bytes_per_second = 0;
  /// Multiply-accumulates per second of attention while a prompt is computed.
  double attention_multiplications_per_second = 0;
};

/// Measures threads and memory, at once. Counts the model's header and vocabulary as the process's.
Hardware measure_memory(const Model& model);

/// Measures memory and speeds, with the model's kernels: runs its program over as many layers as
/// fit kProbeBytes, with synthetic weights. Takes seconds, and that memory meanwhile. Throws
/// NoMemory and compile errors.
Hardware measure_hardware(const Model& model);

/// Larger than any CPU cache.
inline constexpr uint64_t kProbeBytes = uint64_t{3} << 29;

}  // namespace tenon
