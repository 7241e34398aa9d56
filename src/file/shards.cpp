#include "file/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

constexpr std::string_view kNumberKey = "split.no";
constexpr std::string_view kCountKey = "split.count";
constexpr std::string_view kTensorCountKey = "split.tensors.count";

bool same_bytes(const Buffer& a, const Buffer& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

bool same_value(const MetadataValue& a, const MetadataValue& b) {
  return a.type == b.type && a.element == b.element && a.count == b.count &&
         a.integer == b.integer &&
         std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real) && a.text == b.text &&
         same_bytes(a.bytes, b.bytes) && same_bytes(a.offsets, b.offsets);
}

void check_same_model(const Metadata& first, const Metadata& other) {
  for (const Metadata::Entry& entry : other.entries()) {
    if (entry.key == kNumberKey) continue;
    const MetadataValue* value = first.find_value(entry.key);
    if (value != nullptr && !same_value(*value, entry.value)) {
      fail(Code::Format, "{}: is a part of another model than {}: key {} is {}, not {}",
           other.file_name(), first.file_name(), quoted(entry.key), metadata_text(entry.value),
           metadata_text(*value));
    }
  }
}

}  // namespace

uint32_t num_shards(const Metadata& metadata) {
  const auto count = metadata.get_or<uint32_t>(kCountKey, 1);
  if (count > kMaxShards) {
    fail(Code::Format, "{}: key \"{}\": {} is above {}", metadata.file_name(), kCountKey, count,
         kMaxShards);
  }
  return std::max(count, 1u);  // tools that merge shards write 0
}

std::vector<std::string> shard_paths(const std::string& path, uint32_t num_shards) {
  const std::string ending = fmt::format("-of-{:05}.gguf", num_shards);
  constexpr size_t kDigits = 5;
  const size_t tail = 1 + kDigits + ending.size();
  const bool matches = path.size() > tail && path.ends_with(ending) &&
                       path[path.size() - tail] == '-' &&
                       std::ranges::all_of(path.substr(path.size() - tail + 1, kDigits),
                                           [](char c) { return c >= '0' && c <= '9'; });
  if (!matches) {
    fail(Code::Format,
         "{}: is one of {} parts, but its name does not end with \"-NNNNN{}\", by which the others "
         "are found; give the parts, in one folder, one name with their numbers before that",
         path, num_shards, ending);
  }
  std::vector<std::string> paths;
  const std::string stem = path.substr(0, path.size() - tail);
  for (uint32_t i = 1; i <= num_shards; ++i) {
    paths.push_back(fmt::format("{}-{:05}{}", stem, i, ending));
  }
  return paths;
}

Shard open_shard(const std::string& path, uint32_t number, uint32_t num_shards,
                 const std::shared_ptr<System>& system) {
  const int fd = system->open(path.c_str(), OpenMode::Read);
  if (fd == -ENOENT) {
    fail(Code::Format,
         "{}: part {} of {} is missing; all parts belong in one folder, under one name with their "
         "numbers",
         path, number, num_shards);
  }
  if (fd >= 0) system->close(fd);
  Shard shard;
  shard.source = ByteSource::from_path(path, system);
  shard.contents = read_gguf(*shard.source, system);
  return shard;
}

void arrange_shards(std::vector<Shard>& shards) {
  const auto count = static_cast<uint32_t>(shards.size());
  std::vector<Shard> ordered(count);
  for (Shard& shard : shards) {
    const Metadata& metadata = shard.contents.metadata;
    if (num_shards(metadata) != count) {
      fail(Code::Format, "{}: is one of {} parts, but {} were given", metadata.file_name(),
           num_shards(metadata), count);
    }
    const auto number = count == 1 ? 0 : metadata.get<uint32_t>(kNumberKey);
    if (number >= count) {
      fail(Code::Format, "{}: key \"{}\" is {} of {}", metadata.file_name(), kNumberKey, number,
           count);
    }
    Shard& place = ordered[number];
    if (place.source != nullptr) {
      fail(Code::Format, "{}: is part {} of {}, and so is {}", metadata.file_name(), number + 1,
           count, place.source->name());
    }
    place = std::move(shard);
  }

  uint64_t num_tensors = 0;
  const Metadata& first = ordered.front().contents.metadata;
  for (uint32_t i = 0; i < count; ++i) {
    check_same_model(first, ordered[i].contents.metadata);
    for (TensorInfo& tensor : ordered[i].contents.tensors) tensor.source = i;
    num_tensors += ordered[i].contents.tensors.size();
  }
  const auto expected = count == 1 ? num_tensors : first.get<uint64_t>(kTensorCountKey);
  if (num_tensors != expected) {
    fail(Code::Format, "{}: the {} parts hold {} tensors, expected {}", first.file_name(), count,
         num_tensors, expected);
  }
  shards = std::move(ordered);
}

}  // namespace tenon
