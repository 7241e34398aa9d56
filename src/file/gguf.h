// Reader of one GGUF file (versions 2 and 3): header, metadata, tensor directory. shards.h joins
// split files.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/metadata.h"
#include "file/model_file.h"

namespace tenon {

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"
/// Far above any model; bounds the memory that a hostile file can request.
inline constexpr uint64_t kMaxGgufTensors = 262144;
inline constexpr uint64_t kMaxGgufTensorNameBytes = 64;  // set by the specification
inline constexpr uint64_t kMaxGgufAlignment = uint64_t{1} << 20;
inline constexpr uint64_t kDefaultGgufAlignment = 32;  // set by the specification

/// Contents of one file. Tensor offsets are relative to the source; `source` is 0.
struct GgufContents {
  Metadata metadata;
  std::vector<TensorInfo> tensors;
  uint64_t header_bytes = 0;  ///< offset of the first tensor
};

/// Parses the header of a GGUF file in bounded pieces, never beyond the tensor directory. Checks
/// every size, count and offset against the file. Throws Format for a malformed or truncated file,
/// Unsupported for unknown versions, value types and tensor types, Limit for counts beyond the
/// limits, Io if reading fails. Messages name the source and the place.
GgufContents read_gguf(const ByteSource& source, const std::shared_ptr<System>& system);

}  // namespace tenon
