#include "model/private_cache.h"

#include <algorithm>

#include "base/saturating.h"

namespace tenon {

uint64_t private_blocks(const tenon_cache_group& group, uint64_t positions) {
  if (group.kind == TENON_CACHE_STATE) return 1;
  return (positions + group.block_tokens - 1) / group.block_tokens;
}

uint64_t private_cache_bytes(const ModelProgram& program, uint32_t number) {
  const tenon_cache_group& group = program.program.groups()[number];
  // A source's rows belong to the decoder.
  if (program.private_positions == 0 || group.kind == TENON_CACHE_CROSS) return 0;
  const uint64_t blocks = private_blocks(group, program.private_positions);
  return saturating_mul(blocks, block_bytes_of(program, number));
}

uint64_t private_cache_bytes(const ModelProgram& program) {
  uint64_t bytes = 0;
  for (uint32_t group = 0; group < program.program.groups().size(); ++group) {
    bytes = saturating_add(bytes, private_cache_bytes(program, group));
  }
  return bytes;
}

uint64_t private_row_bytes(const ModelProgram& program) {
  if (program.private_positions == 0) return 0;
  uint64_t columns = 0;
  for (const uint32_t result : program.program.results()) {
    const tenon_slot& slot = program.program.slots()[result];
    if (slot.row_class == TENON_ROWS_OUTPUTS) columns += slot.columns;
  }
  const uint32_t rows = std::min(program.program.view().max_outputs, kMostPrivateOutputs);
  return rows * columns * sizeof(float);
}

PrivateCache::PrivateCache(const ModelProgram& program)
    : program_(program), groups_(program.program.groups().size()) {}

void PrivateCache::clear() {
  for (Group& group : groups_) {
    group.num_blocks = 0;
    group.entries.clear();
    group.begins.clear();
  }
}

void PrivateCache::add(uint32_t number, uint64_t positions, bool is_new) {
  const tenon_cache_group& info = program_.program.groups()[number];
  Group& group = groups_[number];
  group.begins.push_back(group.entries.size());
  if (info.kind == TENON_CACHE_STATE) {
    const auto block = static_cast<uint32_t>(group.num_blocks++);
    group.entries.insert(group.entries.end(), {is_new ? TENON_NO_BLOCK : block, block});
    return;
  }
  for (uint64_t count = private_blocks(info, positions); count > 0; --count) {
    group.entries.push_back(static_cast<uint32_t>(group.num_blocks++));
  }
}

void PrivateCache::make_room(uint32_t number) {
  Group& group = groups_[number];
  if (group.num_blocks <= group.num_held) return;
  group.memory.reset();
  group.num_held = 0;
  const PlacedExecutable& executable = *program_.executable;
  const PlacedDevice& device = executable.devices()[executable.group_device(number)];
  group.memory.emplace(device.device, group.num_blocks * executable.block_bytes(number),
                       TENON_MEMORY_CACHE);
  group.num_held = group.num_blocks;
}

tenon_cache_pool PrivateCache::pool(uint32_t number) {
  Group& group = groups_[number];
  group.slab = group.memory ? group.memory->get() : nullptr;
  return {&group.slab, 1, static_cast<uint32_t>(std::max<uint64_t>(group.num_held, 1))};
}

}  // namespace tenon
