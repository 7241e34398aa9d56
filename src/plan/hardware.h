// What planning has to know about a machine, and how it is found out. What a model needs is not
// known here.
#pragma once

#include <array>
#include <cstdint>

#include "model/model.h"

namespace tenon {

/// Steps of 1, 2, 4, ... 128 sequences that decode a token each.
inline constexpr uint32_t kNumDecodeSizes = 8;

/// Speeds are those of `threads` threads together; 0: not known, and nothing is predicted from it.
struct Hardware {
  uint32_t threads = 0;
  uint64_t memory_bytes = 0;   ///< that the process may take, what it holds now included
  uint64_t process_bytes = 0;  ///< what it holds besides weights, cache and what computing takes
  /// Bytes that a step gets through in a second at the beginning of texts: matrices, as the file has
  /// them, and states, read and written.
  std::array<double, kNumDecodeSizes> decode_bytes_per_second{};
  /// Multiply-accumulates in matrices, when a prompt is computed.
  double prefill_multiplications_per_second = 0;
  /// Bytes of the KV cache that attention of single tokens reads in a second.
  double cache_bytes_per_second = 0;
  /// Multiply-accumulates of attention, when a prompt is computed.
  double attention_multiplications_per_second = 0;
};

/// Threads and memory: at once. The model's header and vocabulary are counted as the process's.
Hardware measure_memory(const Model& model);

/// The same and the speeds, with the kernels that the model takes: its program over as many of its
/// layers as fit kProbeBytes, with weights made up. Takes seconds, and that much memory meanwhile.
/// Throws NoMemory, and what compiling the program throws.
Hardware measure_hardware(const Model& model);

/// More than any cache holds.
inline constexpr uint64_t kProbeBytes = uint64_t{3} << 29;

}  // namespace tenon
