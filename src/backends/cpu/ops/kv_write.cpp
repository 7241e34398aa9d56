#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/cache_fits.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

bool kv_write_fits(const OperationTable&, const tenon_program& program,
                   const tenon_op& op) noexcept {
  return group_supported(program, op.params.kv.group);
}

/// Columns per head of the written rows.
uint64_t head_dim(const RowOp& op, const tenon_cache_group& group) noexcept {
  return op.kind == RowKind::WriteKeys ? group.key_dim : group.value_dim;
}

uint64_t kv_write_together(const RowOp& op, std::span<const tenon_cache_group> groups) noexcept {
  return head_dim(op, groups[op.op.params.kv.group]);
}

void write_heads(OpRun& run, const RowOp& op, const float* values, uint64_t token,
                 uint64_t first_head, uint64_t num_heads) noexcept {
  const tenon_kv_params& params = op.op.params.kv;
  const tenon_cache_group& group = run.group(params.group);
  const CacheBlock shape(group);
  const bool keys = op.kind == RowKind::WriteKeys;
  const uint64_t dim = head_dim(op, group);
  const uint32_t position = run.token_position(token);
  if (!backends::has_row(group, position)) return;
  const backends::CacheRow at = backends::cache_row_of(group, position);
  const uint8_t* block = run.cache_blocks(params.group, static_cast<uint32_t>(token))[at.block];
  for (uint64_t h = 0; h < num_heads; ++h) {
    const float* head = values + h * dim;
    const uint64_t area = params.layer * group.kv_heads + first_head + h;
    run.k.kv_write(keys ? head : nullptr, keys ? nullptr : head, shape,
                   const_cast<uint8_t*>(block) + area * shape.area_bytes(), at.slot);
  }
}

void kv_write_row(OpRun& run, const RowOp& op, uint64_t t) noexcept {
  write_heads(run, op, run.f32_row(op.slot, t), t, 0, run.group(op.op.params.kv.group).kv_heads);
}

void kv_write_columns(OpRun& run, const RowOp& op, const ColumnBlock& block, uint64_t t) noexcept {
  const uint64_t dim = head_dim(op, run.group(op.op.params.kv.group));
  write_heads(run, op, block.row(t), t, block.first / dim, block.width / dim);
}

}  // namespace

constexpr CpuOperation ops::kv_write{
    .kind = TENON_OP_KV_WRITE,
    .fits = kv_write_fits,
    .row = kv_write_row,
    .columns = {.apply = kv_write_columns, .together = kv_write_together}};

}  // namespace tenon::cpu
