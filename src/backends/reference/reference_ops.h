// The table of operations of this backend: what each needs of its slots and the function that runs
// it. The functions live in one file per family.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/backend.h"

namespace tenon::reference {

class StepRun;

/// An operation with its slots and its KV group looked up.
struct OpShape {
  const tenon_op* op;
  const tenon_slot* inputs[TENON_MAX_INPUTS];    ///< nullptr: absent
  const tenon_slot* outputs[TENON_MAX_OUTPUTS];  ///< nullptr: none
  const tenon_cache_group* group;                ///< of kv_write, attention and recurrences
  uint32_t position_parts;                       ///< of the program
};

/// Looks the numbers of operation `op` up in a program; nothing when one of them names nothing.
std::optional<OpShape> find_shape(const tenon_program& program, uint32_t op) noexcept;

/// One line of the table.
struct Operation {
  uint32_t kind;  ///< TENON_OP_*
  const char* name;
  /// Whether `run` can do it: kinds, types, rows and columns of the slots, and the parameters.
  bool (*fits)(const OpShape& shape) noexcept;
  /// Computes the output for all rows of the step. Throws Failure.
  void (*run)(StepRun& step, const tenon_op& op);
};

/// The operation of this kind; nullptr when this backend has none.
const Operation* find_operation(uint32_t kind) noexcept;

/// Whether this backend can run the operation.
bool fits(const OpShape& shape) noexcept;

// Pieces that the `fits` functions share.

/// A weight [rows, columns] in a format that can be decoded; rows 0: any number.
bool is_weight(const tenon_slot* slot, uint64_t rows, uint64_t columns) noexcept;
/// Absent, or a weight [1, columns].
bool is_optional_vector(const tenon_slot* slot, uint64_t columns) noexcept;
/// An activation or an input of f32; row_class 0: of any rows.
bool is_activation(const tenon_slot* slot, uint32_t row_class = 0) noexcept;
/// The same of i32, with as many rows as `like`.
bool is_integers(const tenon_slot* slot, const tenon_slot* like) noexcept;
/// An activation with the rows of `like`, or a weight vector, that has `columns` columns.
bool is_operand(const tenon_slot* slot, const tenon_slot* like, uint64_t columns) noexcept;
/// Two activations with the same rows.
bool same_rows(const tenon_slot* a, const tenon_slot* b) noexcept;
/// Two activations with the same rows and columns.
bool same_shape(const tenon_slot* a, const tenon_slot* b) noexcept;

bool fits_embed(const OpShape& shape) noexcept;
bool fits_norm(const OpShape& shape) noexcept;
bool fits_linear(const OpShape& shape) noexcept;
bool fits_rope_angles(const OpShape& shape) noexcept;
bool fits_rope(const OpShape& shape) noexcept;
bool fits_kv_write(const OpShape& shape) noexcept;
bool fits_attention(const OpShape& shape) noexcept;
bool fits_glu(const OpShape& shape) noexcept;
bool fits_elementwise(const OpShape& shape) noexcept;
bool fits_gather_rows(const OpShape& shape) noexcept;
bool fits_moe_route(const OpShape& shape) noexcept;
bool fits_moe_linear(const OpShape& shape) noexcept;
bool fits_sigmoid_gate(const OpShape& shape) noexcept;
bool fits_activate(const OpShape& shape) noexcept;
bool fits_mul(const OpShape& shape) noexcept;
bool fits_sum_segments(const OpShape& shape) noexcept;
bool fits_slice(const OpShape& shape) noexcept;
bool fits_concat(const OpShape& shape) noexcept;
bool fits_linear_heads(const OpShape& shape) noexcept;
bool fits_position_scale(const OpShape& shape) noexcept;
bool fits_pool(const OpShape& shape) noexcept;
bool fits_token_shift(const OpShape& shape) noexcept;
bool fits_conv(const OpShape& shape) noexcept;
bool fits_ssm_scan(const OpShape& shape) noexcept;
bool fits_delta_rule(const OpShape& shape) noexcept;
bool fits_wkv7(const OpShape& shape) noexcept;

void run_embed(StepRun& step, const tenon_op& op);
void run_rms_norm(StepRun& step, const tenon_op& op);
void run_layer_norm(StepRun& step, const tenon_op& op);
void run_linear(StepRun& step, const tenon_op& op);
void run_rope_angles(StepRun& step, const tenon_op& op);
void run_rope(StepRun& step, const tenon_op& op);
void run_kv_write(StepRun& step, const tenon_op& op);
void run_attention(StepRun& step, const tenon_op& op);
void run_glu(StepRun& step, const tenon_op& op);
void run_add(StepRun& step, const tenon_op& op);
void run_scale(StepRun& step, const tenon_op& op);
void run_gather_rows(StepRun& step, const tenon_op& op);
void run_soft_cap(StepRun& step, const tenon_op& op);
void run_moe_route(StepRun& step, const tenon_op& op);
void run_moe_linear(StepRun& step, const tenon_op& op);
void run_sigmoid_gate(StepRun& step, const tenon_op& op);
void run_activate(StepRun& step, const tenon_op& op);
void run_mul(StepRun& step, const tenon_op& op);
void run_sum_segments(StepRun& step, const tenon_op& op);
void run_slice(StepRun& step, const tenon_op& op);
void run_concat(StepRun& step, const tenon_op& op);
void run_linear_heads(StepRun& step, const tenon_op& op);
void run_l2_norm(StepRun& step, const tenon_op& op);
void run_position_scale(StepRun& step, const tenon_op& op);
void run_pool(StepRun& step, const tenon_op& op);
void run_token_shift(StepRun& step, const tenon_op& op);
void run_conv(StepRun& step, const tenon_op& op);
void run_ssm_scan(StepRun& step, const tenon_op& op);
void run_delta_rule(StepRun& step, const tenon_op& op);
void run_wkv7(StepRun& step, const tenon_op& op);

}  // namespace tenon::reference
