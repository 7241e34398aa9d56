// Encoding of keys and values in GGUF files (GGUF specification, "File Structure"), not their
// meaning.
#pragma once

#include <memory>

#include "base/source_reader.h"
#include "base/system.h"
#include "file/metadata.h"

namespace tenon {

/// Limits of a header, far above any model: they bound the memory that a hostile file can request.
inline constexpr uint64_t kMaxGgufKeys = 65536;
inline constexpr uint64_t kMaxGgufKeyBytes = 65535;  // set by the specification
inline constexpr uint64_t kMaxGgufStringBytes = uint64_t{128} << 20;
inline constexpr uint64_t kMaxGgufArrayBytes = uint64_t{1} << 30;

/// Reads a string of a GGUF file: u64 length, then bytes. Throws Format if it exceeds the file or
/// `max_bytes`.
std::string read_gguf_string(SourceReader& reader, uint64_t max_bytes, std::string_view what);

/// Reads one key and its value and adds them. Throws Format and Unsupported naming the key. Large
/// arrays are allocated through `system`, never more than the file holds.
void read_gguf_key_value(SourceReader& reader, const std::shared_ptr<System>& system,
                         uint64_t index, Metadata& out);

}  // namespace tenon
