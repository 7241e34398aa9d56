// Common code of the norms of row segments.
#pragma once

#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {

/// Normalises a segment x to y; x and y may be equal.
using NormSegment = void (*)(OpRun& run, const tenon_op& op, const float* x, float* y) noexcept;

template <NormSegment segment>
void norm_row(OpRun& run, const RowOp& row, uint64_t t) noexcept {
  const auto [x, out, n] = run.row(row.op, t);
  const uint64_t size = row.op.params.norm.segment;
  for (uint64_t c = 0; c < n; c += size) segment(run, row.op, x + c, out + c);
}

template <NormSegment segment>
void norm_columns(OpRun& run, const RowOp& row, const ColumnBlock& block, uint64_t t) noexcept {
  float* y = block.row(t);
  const uint64_t size = row.op.params.norm.segment;
  for (uint64_t c = 0; c < block.width; c += size) segment(run, row.op, y + c, y + c);
}

inline uint64_t norm_together(const RowOp& row, std::span<const tenon_cache_group>) noexcept {
  return row.op.params.norm.segment;
}

template <uint32_t kind, NormSegment segment>
constexpr CpuOperation norm_operation() {
  return {.kind = kind,
          .row = norm_row<segment>,
          .columns = {.apply = norm_columns<segment>, .together = norm_together}};
}

}  // namespace tenon::cpu
