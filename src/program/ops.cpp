#include "program/ops.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "program/op_rules.h"
#include "quant/formats.h"

namespace tenon {
namespace {

using namespace op_rules;

// ---- Cost
// -----------------------------------------------------------------------------------------

/// Of a product with `rows` rows of a weight.
OpCost matrix_cost(const tenon_slot& weight, uint64_t rows) {
  return {.multiplications = rows * weight.columns,
          .weight_bytes = rows * *row_bytes(*find_format(weight.type), weight.columns)};
}

OpCost linear_cost(const OpView& view) {
  return matrix_cost(*view.inputs[1], view.inputs[1]->rows);
}

/// Of experts, those count that one token uses.
OpCost moe_linear_cost(const OpView& view) {
  const tenon_slot& weight = *view.inputs[2];
  return matrix_cost(weight, weight.rows / view.op.params.moe_linear.experts * columns_of(view, 1));
}

OpCost attention_cost(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  if (attention.mask == TENON_MASK_CROSS) return {};  // positions of another text
  const tenon_cache_group& group = view.groups[attention.group];
  SeenCost seen{attention.heads * (uint64_t{group.key_dim} + group.value_dim), attention.window};
  if (view.inputs[3] != nullptr) {
    seen.most = columns_of(view, 3) / std::max(1u, attention.selections) *
                std::max(1u, attention.selected_block);
  }
  return {.seen = {seen}};
}

OpCost attention_pools_cost(const OpView& view) {
  const tenon_attention_pools_params& attention = view.op.params.attention_pools;
  const tenon_cache_group& group = view.groups[attention.group];
  const uint64_t each = attention.heads * (uint64_t{group.key_dim} + group.value_dim);
  const uint64_t chosen = view.inputs[2] == nullptr ? 0 : columns_of(view, 2);
  const uint32_t stride = std::max(1u, view.groups[attention.pool_group].stride);
  return {.seen = {SeenCost{each, attention.window}, SeenCost{each, chosen, stride}}};
}

/// The parameters of all begin with group and layer.
OpCost select_cost(const OpView& view) {
  const uint32_t stride = std::max(1u, view.groups[view.op.params.select.group].stride);
  return {.seen = {SeenCost{columns_of(view, 0), 0, stride}}};
}

OpCost select_within_cost(const OpView& view) {
  OpCost cost = select_cost(view);
  cost.seen[0].most = columns_of(view, 2) * view.op.params.select_within.block;
  return cost;
}

OpCost conv_cost(const OpView& view) { return matrix_cost(*view.inputs[1], view.inputs[1]->rows); }

/// For each value of the state a decay, what is added, and a term of the result.
OpCost ssm_scan_cost(const OpView& view) {
  return {.state_multiplications = 3 * ssm_scan_state(view)};
}

/// The same, and a term of the product with the key.
OpCost delta_rule_cost(const OpView& view) {
  return {.state_multiplications = 4 * delta_rule_state(view)};
}

/// The same, and what is added is two products.
OpCost wkv7_cost(const OpView& view) { return {.state_multiplications = 5 * wkv7_state(view)}; }

/// As ssm_scan.
OpCost wkv6_cost(const OpView& view) { return {.state_multiplications = 3 * wkv6_state(view)}; }

constexpr OpInfo kOps[] = {
    {TENON_OP_EMBED, "embed", "W", "x", RowRule::Tokens, embed_columns},
    {TENON_OP_RMS_NORM, "rms_norm", "xw", "x", RowRule::LikeInput, norm_columns},
    {TENON_OP_LAYER_NORM, "layer_norm", "xww", "x", RowRule::LikeInput, norm_columns},
    {TENON_OP_LINEAR, "linear", "xWw", "x", RowRule::LikeInput, linear_columns, linear_cost},
    {TENON_OP_ROPE_ANGLES, "rope_angles", "Cc", "x", RowRule::Tokens, rope_angles_columns},
    {TENON_OP_ROPE, "rope", "tt", "x", RowRule::Tokens, rope_columns},
    {TENON_OP_KV_WRITE, "kv_write", "ty", "", RowRule::Tokens, kv_write_columns},
    {TENON_OP_ATTENTION, "attention", "twbs", "x", RowRule::Tokens, attention_columns,
     attention_cost},
    {TENON_OP_GLU, "glu", "xx", "x", RowRule::LikeInput, glu_columns},
    {TENON_OP_ADD, "add", "xv", "x", RowRule::LikeInput, add_columns},
    {TENON_OP_SCALE, "scale", "x", "x", RowRule::LikeInput, scale_columns},
    {TENON_OP_GATHER_ROWS, "gather_rows", "t", "x", RowRule::Outputs, same_columns},
    {TENON_OP_SOFT_CAP, "soft_cap", "x", "x", RowRule::LikeInput, soft_cap_columns},
    {TENON_OP_MOE_ROUTE, "moe_route", "xwwy", "ix", RowRule::LikeInput, moe_route_columns},
    {TENON_OP_MOE_LINEAR, "moe_linear", "xiWyw", "x", RowRule::LikeInput, moe_linear_columns,
     moe_linear_cost},
    {TENON_OP_SIGMOID_GATE, "sigmoid_gate", "xx", "x", RowRule::LikeInput, sigmoid_gate_columns},
    {TENON_OP_ACTIVATE, "activate", "x", "x", RowRule::LikeInput, activate_columns},
    {TENON_OP_MUL, "mul", "xv", "x", RowRule::LikeInput, mul_columns},
    {TENON_OP_SUM_SEGMENTS, "sum_segments", "x", "x", RowRule::LikeInput, sum_segments_columns},
    {TENON_OP_SLICE, "slice", "x", "x", RowRule::LikeInput, slice_columns},
    {TENON_OP_CONCAT, "concat", "xx", "x", RowRule::LikeInput, concat_columns},
    {TENON_OP_LINEAR_HEADS, "linear_heads", "xW", "x", RowRule::LikeInput, linear_heads_columns,
     linear_cost},
    {TENON_OP_L2_NORM, "l2_norm", "x", "x", RowRule::LikeInput, norm_columns},
    {TENON_OP_POSITION_SCALE, "position_scale", "t", "x", RowRule::Tokens, position_scale_columns},
    {TENON_OP_POOL, "pool", "t", "x", RowRule::Sequences, pool_columns},
    {TENON_OP_TOKEN_SHIFT, "token_shift", "t", "x", RowRule::Tokens, token_shift_columns, nullptr,
     token_shift_state},
    {TENON_OP_CONV, "conv", "tWw", "x", RowRule::Tokens, conv_columns, conv_cost, conv_state},
    {TENON_OP_SSM_SCAN, "ssm_scan", "ttWttw", "x", RowRule::Tokens, ssm_scan_columns, ssm_scan_cost,
     ssm_scan_state},
    {TENON_OP_DELTA_RULE, "delta_rule", "ttttt", "x", RowRule::Tokens, delta_rule_columns,
     delta_rule_cost, delta_rule_state},
    {TENON_OP_WKV7, "wkv7", "tttttt", "x", RowRule::Tokens, wkv7_columns, wkv7_cost, wkv7_state},
    {TENON_OP_MIX_STREAMS, "mix_streams", "xyyy", "x", RowRule::LikeInput, mix_streams_columns},
    {TENON_OP_SINKHORN, "sinkhorn", "x", "x", RowRule::LikeInput, sinkhorn_columns},
    {TENON_OP_SELECT, "select", "tt", "i", RowRule::Tokens, select_columns, select_cost},
    {TENON_OP_COMPRESS, "compress", "W", "x", RowRule::Tokens, compress_columns},
    {TENON_OP_SELECT_BLOCKS, "select_blocks", "t", "i", RowRule::Tokens, select_blocks_columns,
     select_cost},
    {TENON_OP_NGRAM_ROWS, "ngram_rows", "WCCc", "x", RowRule::Tokens, ngram_rows_columns},
    {TENON_OP_SOFTMAX, "softmax", "x", "x", RowRule::LikeInput, softmax_columns},
    {TENON_OP_WKV6, "wkv6", "ttttw", "x", RowRule::Tokens, wkv6_columns, wkv6_cost, wkv6_state},
    {TENON_OP_ATTENTION_POOLS, "attention_pools", "tws", "x", RowRule::Tokens,
     attention_pools_columns, attention_pools_cost},
    {TENON_OP_ROUND, "round", "x", "x", RowRule::LikeInput, round_columns},
    {TENON_OP_SELECT_CANDIDATES, "select_candidates", "tt", "i", RowRule::Tokens,
     select_candidates_columns, select_cost},
    {TENON_OP_SELECT_WITHIN, "select_within", "tti", "i", RowRule::Tokens, select_within_columns,
     select_within_cost},
};

bool is_integers(char letter) { return letter == 'i' || letter == 's'; }

/// Whether a slot may stand where OpInfo::inputs has this letter.
bool fits_letter(const tenon_slot& slot, char letter) {
  switch (letter) {
    case 'W':
    case 'w':
      return slot.kind == TENON_SLOT_WEIGHT;
    case 'C':
    case 'c':
      return slot.kind == TENON_SLOT_CONSTANT;
    case 'b':
      return slot.kind == TENON_SLOT_WEIGHT || slot.kind == TENON_SLOT_CONSTANT;
    case 'v':
      return slot.kind == TENON_SLOT_WEIGHT || fits_letter(slot, 'x');
    default:
      return (slot.kind == TENON_SLOT_ACTIVATION || slot.kind == TENON_SLOT_INPUT) &&
             slot.type == (is_integers(letter) ? TENON_TYPE_I32 : TENON_TYPE_F32);
  }
}

bool may_be_absent(char letter) {
  return letter == 'w' || letter == 'y' || letter == 'b' || letter == 'c' || letter == 's';
}

/// Checks presence, kinds and rows of the inputs; returns the rows that the activations share.
uint32_t check_inputs(const OpView& view, const OpInfo& info) {
  const std::string_view letters = info.inputs;
  require(view.op.num_inputs <= letters.size(), view,
          fmt::format("{} inputs, at most {} expected", view.op.num_inputs, letters.size()));
  require(view.op.num_inputs == 0 || view.inputs[view.op.num_inputs - 1] != nullptr, view,
          fmt::format("input {} is missing", view.op.num_inputs - 1));
  uint32_t row_class = 0;
  for (uint32_t i = 0; i < view.inputs.size(); ++i) {
    const tenon_slot* slot = view.inputs[i];
    require(slot == nullptr || i < view.op.num_inputs, view, "more inputs than are counted");
    if (slot == nullptr) {
      require(i >= letters.size() || may_be_absent(letters[i]), view,
              fmt::format("input {} is missing", i));
      continue;
    }
    require(fits_letter(*slot, letters[i]), view,
            fmt::format("input {} (\"{}\") is of the wrong kind or type", i, slot->name));
    if (slot->row_class == 0) continue;
    const uint32_t expected = letters[i] == 't' || letters[i] == 's'
                                  ? TENON_ROWS_TOKENS
                                  : (row_class == 0 ? slot->row_class : row_class);
    require(slot->row_class == expected, view,
            fmt::format("input {} (\"{}\") has the wrong rows", i, slot->name));
    row_class = slot->row_class;
  }
  return row_class;
}

uint32_t output_rows(RowRule rule, uint32_t input_rows) {
  switch (rule) {
    case RowRule::Tokens:
      return TENON_ROWS_TOKENS;
    case RowRule::Outputs:
      return TENON_ROWS_OUTPUTS;
    case RowRule::Sequences:
      return TENON_ROWS_SEQUENCES;
    default:
      return input_rows;
  }
}

}  // namespace

std::span<const OpInfo> all_ops() noexcept { return kOps; }

const OpInfo* find_op(uint32_t kind) noexcept {
  for (const OpInfo& info : kOps) {
    if (info.kind == kind) return &info;
  }
  return nullptr;
}

OpOutputs check_op(const OpView& view) {
  const OpInfo* info = find_op(view.op.kind);
  if (info == nullptr)
    fail(Code::Internal, "operation {}: unknown kind {}", view.index, view.op.kind);
  const uint32_t input_rows = check_inputs(view, *info);
  const uint64_t columns = info->columns(view);
  OpOutputs outputs;
  for (const char letter : std::string_view(info->outputs)) {
    outputs.list[outputs.count++] = {output_rows(info->rows, input_rows),
                                     letter == 'i' ? TENON_TYPE_I32 : TENON_TYPE_F32, columns};
  }
  return outputs;
}

OpView op_view(const tenon_program& program, uint32_t index) {
  OpView view{ops_of(program)[index], index, {}, groups_of(program), program.position_parts};
  for (uint32_t i = 0; i < view.op.num_inputs; ++i) {
    if (view.op.inputs[i] == TENON_NO_SLOT) continue;
    view.inputs[i] = &slots_of(program)[view.op.inputs[i]];
  }
  return view;
}

OpCost op_cost(const OpView& view) {
  const OpInfo* info = find_op(view.op.kind);
  return info == nullptr || info->cost == nullptr ? OpCost{} : info->cost(view);
}

std::string op_label(uint32_t index, uint32_t kind) {
  const OpInfo* info = find_op(kind);
  return fmt::format("operation {} ({})", index, info == nullptr ? "unknown" : info->name);
}

}  // namespace tenon
