#include "backends/gpu/work_memory.h"

#include <algorithm>

#include "abi/sizes.h"
#include "abi/step_rules.h"
#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/unit_products.h"

namespace tenon::gpu {

using backends::multiply;

/// Bytes of each part for the most demanding operation.
struct WorkMemory::Sizes {
  uint64_t units = 0, factors = 0, parts = 0, arrived = 0, partials = 0, rows_arrived = 0;

  void take_product(const tenon_program& program, const tenon_slot& x, const tenon_slot& weight,
                    uint32_t multiprocessors) {
    const uint64_t rows = backends::max_rows(program, x.row_class);
    const uint64_t row_tiles = (rows + kRowUnitRows - 1) / kRowUnitRows;
    const uint64_t tiles = tiles_of_rows(weight.rows);
    const uint64_t row_units = units_of_row(weight.columns);
    units = std::max(units, multiply(row_tiles, row_units * kRowUnitBytes, weight.name));
    factors = std::max<uint64_t>(factors, rows * sizeof(float));
    const ColumnParts split = column_parts(tiles, row_units, multiprocessors);
    if (split.groups == 1) return;
    constexpr uint64_t kSums = kUnitRows * kRowUnitRows;
    parts = std::max<uint64_t>(parts, tiles * split.parts * kSums * sizeof(float));
    arrived = std::max<uint64_t>(arrived, tiles * sizeof(uint32_t));
  }

  void take_attention(const tenon_program& program, const tenon_cache_group& group,
                      uint32_t heads) {
    const uint64_t rows = uint64_t{std::min(program.max_tokens, kNarrowTokens)} * heads;
    const uint64_t values = kAttentionSplits * (2 + uint64_t{shared_row(group)});
    partials = std::max(partials, multiply(rows, values * sizeof(float), "attention"));
    rows_arrived = std::max(rows_arrived, rows * sizeof(uint32_t));
  }
};

uint32_t shared_row(const tenon_cache_group& group) noexcept {
  return (std::max(group.key_dim, group.value_dim) + 7) / 8 * 8;
}

WorkMemory::WorkMemory(const backends::ProgramCopy& program, const SlotPlaces& places,
                       uint32_t multiprocessors, Families families) {
  const bool shares_attention = families.has(Family::SharedAttention);
  Sizes sizes;
  for (const tenon_op& op : program.ops()) {
    if (op.kind == TENON_OP_LINEAR && places.in_units[op.inputs[1]] != 0) {
      sizes.take_product(program.view(), program.slots()[op.inputs[0]],
                         program.slots()[op.inputs[1]], multiprocessors);
    } else if (op.kind == TENON_OP_ATTENTION && shares_attention) {
      const tenon_attention_params& params = op.params.attention;
      sizes.take_attention(program.view(), program.groups()[params.group], params.heads);
    } else if (op.kind == TENON_OP_ATTENTION_POOLS && shares_attention) {
      const tenon_attention_pools_params& params = op.params.attention_pools;
      sizes.take_attention(program.view(), program.groups()[params.group], params.heads);
    }
  }
  const auto append = [this](uint64_t size) {
    constexpr uint64_t kLine = 256;
    const uint64_t first = bytes;
    bytes = backends::add(first, (size + kLine - 1) / kLine * kLine, "work of kernels");
    return first;
  };
  units = append(sizes.units);
  factors = append(sizes.factors);
  parts = append(sizes.parts);
  arrived = append(sizes.arrived);
  partials = append(sizes.partials);
  rows_arrived = append(sizes.rows_arrived);
}

}  // namespace tenon::gpu
