#include "engine/stored_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/loaded_code.h"
#include "engine/snapshot.h"
#include "model/placed_executable.h"

namespace tenon {
namespace {

constexpr std::string_view kBlockMagic = "TENONBLK";
constexpr uint32_t kBlockVersion = 1;

using BlockHead = std::array<std::byte, StoredBlock::kHeadBytes>;

BlockHead head_of(const StoredBlock& block) {
  BlockHead head{};
  std::byte* out = head.data();
  const auto put = [&out](const auto& value) {
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  };
  std::memcpy(out, kBlockMagic.data(), kBlockMagic.size());
  out += kBlockMagic.size();
  put(kBlockVersion);
  put(block.group);
  put(block.bits.low);
  put(block.bits.high);
  put(block.key.low);
  put(block.key.high);
  put(block.position);
  put(block.block_bytes);
  put(uint64_t{block.tokens.size()});
  return head;
}

std::array<uint64_t, 2> sum_of(std::span<const std::byte> record) {
  const Hash128 sum = hash_bytes(record.first(record.size() - StoredBlock::kSumBytes));
  return {sum.low, sum.high};
}

}  // namespace

Hash128 bits_id(const Model& model) {
  const SnapshotIdentity identity = snapshot_identity(model);
  Hasher hasher;
  const auto add = [&hasher](Hash128 hash) {
    const std::array<uint64_t, 2> halves{hash.low, hash.high};
    hasher.add(std::as_bytes(std::span(halves)));
  };
  add(identity.model);
  hasher.add(std::as_bytes(std::span(identity.cache)));
  const auto add_code = [&add](const void* within) {
    const Hash128 code = code_fingerprint(within);
    if (code == Hash128{}) {
      fail(Code::Unsupported, "store: this build's code cannot be told apart from another one's");
    }
    add(code);
  };
  add_code(reinterpret_cast<const void*>(&bits_id));
  for (const PlacedDevice& part : model.executable().devices()) {
    add_code(&part.device->api());
    hasher.add(std::as_bytes(std::span(&part.layers, 1)));
  }
  for (const auto& [name, value] : model.options().backend_options) {
    const std::string option = fmt::format("; {}={}", name, value);
    hasher.add(std::as_bytes(std::span(option)));
  }
  return hasher.value();
}

void StoredBlock::seal(std::span<std::byte> record) const {
  const BlockHead head = head_of(*this);
  std::memcpy(record.data(), head.data(), head.size());
  std::ranges::copy(std::as_bytes(tokens), record.subspan(kHeadBytes + block_bytes).begin());
  const auto sum = sum_of(record);
  std::memcpy(&record[record.size() - kSumBytes], sum.data(), kSumBytes);
}

bool StoredBlock::matches(std::span<const std::byte> record) const {
  if (record.size() != size_bytes()) return false;
  const BlockHead head = head_of(*this);
  if (std::memcmp(record.data(), head.data(), head.size()) != 0) return false;
  const auto own = record.subspan(kHeadBytes + block_bytes, tokens.size_bytes());
  if (!std::ranges::equal(own, std::as_bytes(tokens))) return false;
  const auto sum = sum_of(record);
  return std::memcmp(&record[record.size() - kSumBytes], sum.data(), kSumBytes) == 0;
}

Hash128 record_key(Hash128 block, uint32_t group, Hash128 bits) {
  const std::array<uint64_t, 5> parts{block.low, block.high, group, bits.low, bits.high};
  return hash_bytes(std::as_bytes(std::span(parts)));
}

}  // namespace tenon
