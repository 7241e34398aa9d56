#include "backends/cpu/phases/recurrence.h"

#include <cstring>

namespace tenon::cpu {
namespace {

/// An operation's part of the state before the step (null means zeros) and after; may be equal.
struct StatePlaces {
  const float* read;
  float* write;
};

StatePlaces state_places(const OpRun& run, const RecurrentItem& item) noexcept {
  const tenon_state_params& params = item.op.params.state;
  const tenon_cache_group& group = run.group(params.group);
  const uint64_t offset = params.layer * state_layer_values(group) + params.offset;
  const uint8_t* const* blocks = run.sequence_blocks(params.group, item.sequence_number);
  auto* const write = reinterpret_cast<float*>(const_cast<uint8_t*>(blocks[1])) + offset;
  if (blocks[0] == nullptr) return {nullptr, write};
  return {reinterpret_cast<const float*>(blocks[0]) + offset, write};
}

}  // namespace

float* begin_state(const OpRun& run, const RecurrentItem& item, uint64_t first, uint64_t count,
                   uint64_t rows, uint64_t stride) noexcept {
  const auto [read, write] = state_places(run, item);
  for (uint64_t r = 0; r < rows; ++r) {
    const uint64_t at = first + r * stride;
    if (read == nullptr) {
      std::memset(write + at, 0, count * sizeof(float));
    } else if (read != write) {
      std::memcpy(write + at, read + at, count * sizeof(float));
    }
  }
  return write + first;
}

StateScan begin_scan(const OpRun& run, const RecurrentItem& item, const StateTiles& tiles,
                     const StateTile& tile, uint64_t first_column) noexcept {
  const uint32_t out = item.op.outputs[0];
  const auto [read, write] = state_places(run, item);
  StateScan scan{};
  scan.state = write + tile.offset;
  scan.before = read == nullptr ? begin_state(run, item, tile.offset, tiles.rows * tile.width)
                                : read + tile.offset;
  scan.width = tile.width;
  scan.rows = tiles.rows;
  scan.num_tokens = item.sequence.num_tokens;
  scan.out = run.f32_row(out, item.sequence.first_token) + first_column;
  scan.out_stride = run.columns(out);
  return scan;
}

bool recurrence_fits(const OperationTable& table, const tenon_program& program,
                     const tenon_op& op) noexcept {
  const uint32_t group = op.params.state.group;
  if (group >= program.num_groups || groups_of(program)[group].kind != TENON_CACHE_STATE) {
    return false;
  }
  const uint32_t slot = state_table(table.find(op.kind), op);
  for (uint32_t i = 0; slot != TENON_NO_SLOT && i < program.num_ops; ++i) {
    const tenon_op& other = ops_of(program)[i];
    const CpuOperation* entry = table.entry_of(program, other);
    if (entry == nullptr) continue;
    for (uint32_t j = 0; j < other.num_inputs; ++j) {
      if (other.inputs[j] == slot && state_table(entry, other) != slot) return false;
    }
  }
  return true;
}

}  // namespace tenon::cpu
