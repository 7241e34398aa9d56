// The reader of one GGUF file (versions 2 and 3): header, metadata, tensor directory. Split files
// are put together in shards.h.
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
/// Far above every model there is; bounds the memory that a hostile file can ask for.
inline constexpr uint64_t kMaxGgufTensors = 262144;
inline constexpr uint64_t kMaxGgufTensorNameBytes = 64;  // by the specification
inline constexpr uint64_t kMaxGgufAlignment = uint64_t{1} << 20;
inline constexpr uint64_t kDefaultGgufAlignment = 32;  // by the specification

/// The contents of one file. Offsets of tensors are those in the source; `source` is left at 0.
struct GgufContents {
  Metadata metadata;
  std::vector<TensorInfo> tensors;
  uint64_t header_bytes = 0;  ///< where the tensors begin
};

/// Parses the header of a GGUF file, in bounded pieces and never past the tensor directory. Every
/// size, count and offset is checked against the file. Throws Format for a malformed or truncated
/// file, Unsupported for versions, value types and tensor types that we do not know, Limit for
/// counts beyond the limits, Io when reading fails; the message names the source and the place.
GgufContents read_gguf(const ByteSource& source, const std::shared_ptr<System>& system);

}  // namespace tenon
