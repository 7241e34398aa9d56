// Every operation of the plugin ABI as a table: what it needs of its slots, of the device, and which stages
// compute it.
#pragma once

#include <cstdint>

#include "backends/common/plain/plain_shape.h"
#include "backends/gpu/stage_builder.h"

namespace tenon::gpu {

struct Operation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// Kinds, types, rows and columns of the slots, and the parameters: the same rules as in the plain way.
  bool (*fits)(const plain::OpShape& shape) noexcept;
  /// Values that a workgroup shares.
  uint64_t (*shared_values)(const plain::OpShape& shape) noexcept;
  void (*add)(StageBuilder& builder, const tenon_op& op);
};

/// nullptr when there is none of this kind.
const Operation* find_operation(uint32_t kind) noexcept;

/// Whether operation `op` of a program can run where a workgroup shares `shared_bytes`.
bool fits_device(const tenon_program& program, uint32_t op, uint64_t shared_bytes) noexcept;

/// UNSUPPORTED, ARGUMENT or LIMIT naming what of a program cannot run so.
void check_program(const backends::ProgramCopy& program, uint64_t shared_bytes);

// By file of the same name.
// stages_products.cpp
void add_embed(StageBuilder& b, const tenon_op& op);
void add_gather_rows(StageBuilder& b, const tenon_op& op);
void add_ngram_rows(StageBuilder& b, const tenon_op& op);
void add_linear(StageBuilder& b, const tenon_op& op);
void add_linear_heads(StageBuilder& b, const tenon_op& op);
void add_moe_route(StageBuilder& b, const tenon_op& op);
void add_moe_linear(StageBuilder& b, const tenon_op& op);
// stages_unit_products.cpp
/// add_linear of a weight in units.
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
