#include "backends/gpu/product_memory.h"

#include <algorithm>

#include "backends/common/sizes.h"
#include "backends/common/step_rules.h"
#include "backends/gpu/stage_parameters.h"
#include "backends/gpu/unit_products.h"

namespace tenon::gpu {
namespace {

uint64_t append(uint64_t& end, uint64_t bytes) {
  constexpr uint64_t kLine = 256;
  const uint64_t first = end;
  end = backends::add(first, (bytes + kLine - 1) / kLine * kLine, "packed rows");
  return first;
}

}  // namespace

ProductMemory::ProductMemory(const backends::ProgramCopy& program, const SlotPlaces& places,
                             uint32_t multiprocessors) {
  if (multiprocessors == 0) return;
  uint64_t unit_bytes = 0;
  uint64_t factor_bytes = 0;
  uint64_t part_bytes = 0;
  uint64_t arrived_bytes = 0;
  for (const tenon_op& op : program.ops()) {
    if (op.kind != TENON_OP_LINEAR || places.in_units[op.inputs[1]] == 0) continue;
    const tenon_slot& weight = program.slots()[op.inputs[1]];
    const uint64_t rows =
        backends::max_rows(program.view(), program.slots()[op.inputs[0]].row_class);
    const uint64_t tiles = tiles_of_rows(weight.rows);
    const uint64_t units_of_weight = units_of_row(weight.columns);
    const ColumnParts split = column_parts(tiles, units_of_weight, multiprocessors);
    const uint64_t row_tiles = (rows + kRowUnitRows - 1) / kRowUnitRows;
    unit_bytes = std::max(
        unit_bytes, backends::multiply(row_tiles, units_of_weight * kRowUnitBytes, weight.name));
    factor_bytes = std::max<uint64_t>(factor_bytes, rows * sizeof(float));
    if (split.groups == 1) continue;
    constexpr uint64_t kSums = kUnitRows * kRowUnitRows;
    part_bytes = std::max<uint64_t>(part_bytes, tiles * split.parts * kSums * sizeof(float));
    arrived_bytes = std::max<uint64_t>(arrived_bytes, tiles * sizeof(uint32_t));
  }
  units = append(bytes, unit_bytes);
  factors = append(bytes, factor_bytes);
  parts = append(bytes, part_bytes);
  arrived = append(bytes, arrived_bytes);
}

}  // namespace tenon::gpu
