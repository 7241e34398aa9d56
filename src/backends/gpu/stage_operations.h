// The table of operations: requirements on slots and device, and the stages that compute each.
#pragma once

#include <cstdint>

#include "backends/common/plain/plain_shape.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

struct Operation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// True if the operation supports the slots and parameters; the rules of the plain forms.
  bool (*fits)(const plain::OpShape& shape) noexcept;
  /// Values shared by a workgroup.
  uint64_t (*shared_values)(const plain::OpShape& shape) noexcept;
  void (*add)(StageBuilder& builder, const tenon_op& op);
};

/// The operation of this kind; null if unknown.
const Operation* find_operation(uint32_t kind) noexcept;

/// True if operation `op` of a program can run with `shared_bytes` of workgroup memory.
bool fits_device(const tenon_program& program, uint32_t op, uint64_t shared_bytes) noexcept;

/// Throws UNSUPPORTED, ARGUMENT or LIMIT that names the part of a program that cannot run.
void check_program(const backends::ProgramCopy& program, uint64_t shared_bytes);

// Grouped by file.
// stages_products.cpp
void add_embed(StageBuilder& b, const tenon_op& op);
void add_gather_rows(StageBuilder& b, const tenon_op& op);
void add_ngram_rows(StageBuilder& b, const tenon_op& op);
void add_linear(StageBuilder& b, const tenon_op& op);
void add_linear_heads(StageBuilder& b, const tenon_op& op);
void add_moe_route(StageBuilder& b, const tenon_op& op);
void add_moe_linear(StageBuilder& b, const tenon_op& op);
// stages_unit_products.cpp
/// Implements add_linear for a weight in units.
void add_unit_linear(StageBuilder& b, const tenon_op& op);
// stages_rows.cpp
void add_norm(StageBuilder& b, const tenon_op& op);
void add_glu(StageBuilder& b, const tenon_op& op);
void add_activate(StageBuilder& b, const tenon_op& op);
void add_scale(StageBuilder& b, const tenon_op& op);
void add_soft_cap(StageBuilder& b, const tenon_op& op);
void add_combination(StageBuilder& b, const tenon_op& op);
void add_position_scale(StageBuilder& b, const tenon_op& op);
void add_round(StageBuilder& b, const tenon_op& op);
void add_segments(StageBuilder& b, const tenon_op& op);
void add_slice(StageBuilder& b, const tenon_op& op);
void add_concat(StageBuilder& b, const tenon_op& op);
void add_pool(StageBuilder& b, const tenon_op& op);
void add_mix_streams(StageBuilder& b, const tenon_op& op);
void add_sinkhorn(StageBuilder& b, const tenon_op& op);
// stages_cache.cpp
void add_rope_angles(StageBuilder& b, const tenon_op& op);
void add_rope(StageBuilder& b, const tenon_op& op);
void add_kv_write(StageBuilder& b, const tenon_op& op);
void add_attention(StageBuilder& b, const tenon_op& op);
void add_attention_pools(StageBuilder& b, const tenon_op& op);
void add_select(StageBuilder& b, const tenon_op& op);
void add_select_within(StageBuilder& b, const tenon_op& op);
void add_select_blocks(StageBuilder& b, const tenon_op& op);
void add_compress(StageBuilder& b, const tenon_op& op);
// stages_states.cpp
void add_token_shift(StageBuilder& b, const tenon_op& op);
void add_conv(StageBuilder& b, const tenon_op& op);
void add_ssm_scan(StageBuilder& b, const tenon_op& op);
void add_delta_rule(StageBuilder& b, const tenon_op& op);
void add_wkv(StageBuilder& b, const tenon_op& op);

}  // namespace tenon::gpu
