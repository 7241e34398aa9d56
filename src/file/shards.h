// How the parts of a split GGUF file ("name-00001-of-00003.gguf") find each other and become one
// model file.
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

/// As the number is written in names: five digits.
inline constexpr uint32_t kMaxShards = 99999;

/// One shard: where it comes from and what its header says.
struct Shard {
  std::shared_ptr<const ByteSource> source;
  GgufContents contents;
};

/// Number of shards that the file says it is one of; 1 for a file that is whole.
uint32_t num_shards(const Metadata& metadata);

/// The paths of all shards, given the path of any. Throws Format when `path` does not end with
/// "-NNNNN-of-<num_shards>.gguf".
std::vector<std::string> shard_paths(const std::string& path, uint32_t num_shards);

/// Opens and reads shard `number` (from 1, for messages); Format when there is no such file.
Shard open_shard(const std::string& path, uint32_t number, uint32_t num_shards,
                 const std::shared_ptr<System>& system);

/// Puts shards, in any order, in the order of their numbers and sets each tensor's `source` to the
/// position of its shard. Throws Format naming the file when one is missing, there twice, or from
/// another model (other counts, other values for the keys that it shares with the first).
void arrange_shards(std::vector<Shard>& shards);

}  // namespace tenon
