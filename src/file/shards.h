// Finds the parts of a split GGUF file ("name-00001-of-00003.gguf") and joins them to one model
// file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/system.h"
#include "file/gguf.h"

namespace tenon {

/// Names hold numbers of five digits.
inline constexpr uint32_t kMaxShards = 99999;

/// A shard's source and header.
struct Shard {
  std::shared_ptr<const ByteSource> source;
  GgufContents contents;
};

/// Number of shards of the file's model; 1 for a whole file.
uint32_t num_shards(const Metadata& metadata);

/// The paths of all shards, given the path of any. Throws Format when `path` does not end with
/// "-NNNNN-of-<num_shards>.gguf".
std::vector<std::string> shard_paths(const std::string& path, uint32_t num_shards);

/// Opens and reads shard `number` (from 1, for messages). Throws Format if the file is missing.
Shard open_shard(const std::string& path, uint32_t number, uint32_t num_shards,
                 const std::shared_ptr<System>& system);

/// Sorts shards by number and sets each tensor's `source` to the index of its shard. Throws Format
/// naming the file if a shard is missing, present twice, or of another model (other counts, or
/// other values of keys that it shares with the first).
void arrange_shards(std::vector<Shard>& shards);

}  // namespace tenon
