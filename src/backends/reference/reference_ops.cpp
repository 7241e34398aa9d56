#include "backends/reference/reference_ops.h"

#include "backends/common/recurrence.h"
#include "backends/common/strided.h"
#include "quant/formats.h"

namespace tenon::reference {
namespace {

constexpr Operation kOperations[] = {
    {TENON_OP_EMBED, "embed", fits_embed, run_embed},
    {TENON_OP_RMS_NORM, "rms_norm", fits_norm, run_rms_norm},
    {TENON_OP_LAYER_NORM, "layer_norm", fits_norm, run_layer_norm},
    {TENON_OP_LINEAR, "linear", fits_linear, run_linear},
    {TENON_OP_ROPE_ANGLES, "rope_angles", fits_rope_angles, run_rope_angles},
    {TENON_OP_ROPE, "rope", fits_rope, run_rope},
    {TENON_OP_KV_WRITE, "kv_write", fits_kv_write, run_kv_write},
    {TENON_OP_ATTENTION, "attention", fits_attention, run_attention},
    {TENON_OP_GLU, "glu", fits_glu, run_glu},
    {TENON_OP_ADD, "add", fits_elementwise, run_add},
    {TENON_OP_SCALE, "scale", fits_elementwise, run_scale},
    {TENON_OP_GATHER_ROWS, "gather_rows", fits_gather_rows, run_gather_rows},
    {TENON_OP_SOFT_CAP, "soft_cap", fits_elementwise, run_soft_cap},
    {TENON_OP_MOE_ROUTE, "moe_route", fits_moe_route, run_moe_route},
    {TENON_OP_MOE_LINEAR, "moe_linear", fits_moe_linear, run_moe_linear},
    {TENON_OP_SIGMOID_GATE, "sigmoid_gate", fits_sigmoid_gate, run_sigmoid_gate},
    {TENON_OP_ACTIVATE, "activate", fits_activate, run_activate},
    {TENON_OP_MUL, "mul", fits_mul, run_mul},
    {TENON_OP_SUM_SEGMENTS, "sum_segments", fits_sum_segments, run_sum_segments},
    {TENON_OP_SLICE, "slice", fits_slice, run_slice},
    {TENON_OP_CONCAT, "concat", fits_concat, run_concat},
    {TENON_OP_LINEAR_HEADS, "linear_heads", fits_linear_heads, run_linear_heads},
    {TENON_OP_L2_NORM, "l2_norm", fits_norm, run_l2_norm},
    {TENON_OP_POSITION_SCALE, "position_scale", fits_position_scale, run_position_scale},
    {TENON_OP_POOL, "pool", fits_pool, run_pool},
    {TENON_OP_TOKEN_SHIFT, "token_shift", fits_token_shift, run_token_shift},
    {TENON_OP_CONV, "conv", fits_conv, run_conv},
    {TENON_OP_SSM_SCAN, "ssm_scan", fits_ssm_scan, run_ssm_scan},
    {TENON_OP_DELTA_RULE, "delta_rule", fits_delta_rule, run_delta_rule},
    {TENON_OP_WKV7, "wkv7", fits_wkv7, run_wkv7},
};

}  // namespace

std::optional<OpShape> find_shape(const tenon_program& program, uint32_t op) noexcept {
  if (op >= program.num_ops) return std::nullopt;
  OpShape shape{&ops_of(program)[op], {}, {}, nullptr, program.position_parts};
  const auto find = [&](uint32_t number, const tenon_slot*& slot) {
    if (number == TENON_NO_SLOT) return true;
    if (number >= program.num_slots) return false;
    slot = &slots_of(program)[number];
    return true;
  };
  for (uint32_t i = 0; i < TENON_MAX_INPUTS; ++i) {
    if (!find(shape.op->inputs[i], shape.inputs[i])) return std::nullopt;
  }
  for (uint32_t o = 0; o < TENON_MAX_OUTPUTS; ++o) {
    if (!find(shape.op->outputs[o], shape.outputs[o])) return std::nullopt;
  }
  const bool cached = shape.op->kind == TENON_OP_KV_WRITE || shape.op->kind == TENON_OP_ATTENTION;
  const bool recurrent = backends::is_recurrent(shape.op->kind);
  if (cached || recurrent) {  // the parameters of all begin with group and layer
    const tenon_kv_params& kv = shape.op->params.kv;
    if (kv.group >= program.num_groups) return std::nullopt;
    shape.group = &groups_of(program)[kv.group];
    if (kv.layer >= shape.group->layers) return std::nullopt;
    if (recurrent != (shape.group->kind == TENON_CACHE_STATE)) return std::nullopt;
  }
  return shape;
}

const Operation* find_operation(uint32_t kind) noexcept {
  for (const Operation& operation : kOperations) {
    if (operation.kind == kind) return &operation;
  }
  return nullptr;
}

bool fits(const OpShape& shape) noexcept {
  const Operation* operation = find_operation(shape.op->kind);
  return operation != nullptr && operation->fits(shape);
}

bool is_weight(const tenon_slot* slot, uint64_t rows, uint64_t columns) noexcept {
  if (slot == nullptr || slot->kind != TENON_SLOT_WEIGHT) return false;
  const FormatInfo* format = find_format(slot->type);
  return format != nullptr && format->weight && format->decode_row != nullptr &&
         slot->columns % format->block_values == 0 && slot->columns == columns && slot->rows > 0 &&
         (rows == 0 || slot->rows == rows);
}

bool is_optional_vector(const tenon_slot* slot, uint64_t columns) noexcept {
  return slot == nullptr || is_weight(slot, 1, columns);
}

bool is_activation(const tenon_slot* slot, uint32_t row_class) noexcept {
  return slot != nullptr &&
         (slot->kind == TENON_SLOT_ACTIVATION || slot->kind == TENON_SLOT_INPUT) &&
         slot->type == TENON_TYPE_F32 && slot->columns > 0 &&
         (row_class == 0 || slot->row_class == row_class);
}

bool is_integers(const tenon_slot* slot, const tenon_slot* like) noexcept {
  return slot != nullptr && slot->kind == TENON_SLOT_ACTIVATION && slot->type == TENON_TYPE_I32 &&
         slot->columns > 0 && slot->row_class == like->row_class;
}

bool is_operand(const tenon_slot* slot, const tenon_slot* like, uint64_t columns) noexcept {
  return is_weight(slot, 1, columns) || (same_rows(slot, like) && slot->columns == columns);
}

bool same_rows(const tenon_slot* a, const tenon_slot* b) noexcept {
  return is_activation(a) && is_activation(b) && a->row_class == b->row_class;
}

bool same_shape(const tenon_slot* a, const tenon_slot* b) noexcept {
  return same_rows(a, b) && a->columns == b->columns;
}

}  // namespace tenon::reference
