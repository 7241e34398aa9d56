// Stages of products with weights in units. The rows of x are packed once for all products; the
// number of rows selects one of two or three kernels.
#include "backends/gpu/stage_operations.h"
#include "backends/gpu/unit_products.h"

namespace tenon::gpu {
namespace {

void pack_x(StageBuilder& b, uint32_t x) {
  if (b.is_packed(x)) return;
  PackRowsStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.address(x);
  stage.units = b.addresses.work + b.work.units;
  stage.factors = b.addresses.work + b.work.factors;
  stage.row_class = b.slot(x).row_class;
  stage.columns = b.columns(x);
  b.add(Kernel::pack_rows, {}, stage, {1, stage.row_class});
}

}  // namespace

void add_unit_linear(StageBuilder& b, const tenon_op& op) {
  const uint32_t x = op.inputs[0];
  const uint32_t weight = op.inputs[1];
  const auto format = static_cast<Format>(b.slot(weight).type);
  const auto rows = static_cast<uint32_t>(b.slot(weight).rows);
  const uint64_t tiles = tiles_of_rows(rows);
  pack_x(b, x);

  UnitLinearStage stage{};
  stage.step = b.addresses.step;
  stage.x = b.addresses.work + b.work.units;
  stage.x_factors = b.addresses.work + b.work.factors;
  stage.weight = b.address(weight);
  stage.row_factors = b.row_factors(weight);
  stage.bias = b.address(op.inputs[2]);
  stage.y = b.address(op.outputs[0]);
  stage.parts = b.addresses.work + b.work.parts;
  stage.arrived = b.addresses.work + b.work.arrived;
  stage.row_class = b.slot(op.outputs[0]).row_class;
  stage.rows = rows;
  stage.units = static_cast<uint32_t>(units_of_row(b.columns(weight)));
  const ColumnParts parts = column_parts(tiles, stage.units, b.limits.multiprocessors);
  stage.units_of_part = parts.units;
  stage.num_parts = parts.parts;
  stage.groups_of_tile = parts.groups;

  b.add(for_units(Kernel::linear_narrow_f16, format), {b.limits.subgroup_size}, stage,
        {.groups = static_cast<uint32_t>(tiles * parts.groups),
         .row_class = stage.row_class,
         .rows_of_group = kNarrowTokens,
         .threads = parts.parts_of_group * b.limits.subgroup_size,
         .most_rows = kNarrowTokens});
  StageBuilder::Grid wide{.groups = (rows + kWideRows - 1) / kWideRows,
                          .row_class = stage.row_class,
                          .rows_of_group = kWideTokens,
                          .threads = kWideThreads,
                          .least_rows = kNarrowTokens + 1};
  const bool has_warpgroups = b.limits.families.has(*warpgroups_family(format));
  if (has_warpgroups) wide.most_rows = kWarpgroupTokens;
  b.add(for_units(Kernel::linear_wide_f16, format), {b.limits.subgroup_size}, stage, wide);
  if (!has_warpgroups) return;
  wide.least_rows = kWarpgroupTokens + 1;
  wide.most_rows = UINT32_MAX;
  b.add(for_units(Kernel::linear_warpgroup_f16, format), {}, stage, wide);
}

}  // namespace tenon::gpu
