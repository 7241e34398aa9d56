#include "program/ops.h"

#include <cmath>
#include <string_view>

#include "base/error.h"

namespace tenon {
namespace {

[[noreturn]] void refuse(const OpView& view, std::string_view why) {
  fail(Code::Internal, "{}: {}", op_label(view.index, view.op.kind), why);
}

void require(bool holds, const OpView& view, std::string_view why) {
  if (!holds) refuse(view, why);
}

uint64_t columns_of(const OpView& view, uint32_t input) { return view.inputs[input]->columns; }

/// Refuses unless input `input` is absent or a vector of `columns` values.
void require_vector(const OpView& view, uint32_t input, uint64_t columns) {
  const tenon_slot* slot = view.inputs[input];
  if (slot == nullptr || (slot->rows == 1 && slot->columns == columns)) return;
  refuse(view, fmt::format("\"{}\" is [{}, {}], expected [1, {}]", slot->name, slot->rows,
                           slot->columns, columns));
}

const tenon_kv_group& group_of(const OpView& view, uint32_t group, uint32_t layer) {
  require(group < view.groups.size(), view, "the KV group does not exist");
  require(layer < view.groups[group].layers, view, "the KV group has no such layer");
  return view.groups[group];
}

uint64_t embed_columns(const OpView& view) { return columns_of(view, 0); }

uint64_t same_columns(const OpView& view) { return columns_of(view, 0); }

uint64_t norm_columns(const OpView& view) {
  const tenon_norm_params& norm = view.op.params.norm;
  const uint64_t columns = columns_of(view, 0);
  require(norm.segment > 0 && columns % norm.segment == 0, view,
          fmt::format("{} columns are not whole segments of {}", columns, norm.segment));
  require(std::isfinite(norm.epsilon) && norm.epsilon >= 0, view,
          "epsilon is negative or no number");
  require_vector(view, 1, norm.segment);
  require_vector(view, 2, norm.segment);
  return columns;
}

uint64_t linear_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  require(columns_of(view, 0) == weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}", weight.name, weight.columns,
                      columns_of(view, 0)));
  require_vector(view, 2, weight.rows);
  return weight.rows;
}

uint64_t rope_angles_columns(const OpView& view) {
  const tenon_slot& frequencies = *view.inputs[0];
  require(frequencies.rows == 1 && frequencies.type == TENON_TYPE_F64, view,
          "the frequencies are not [1, p] f64");
  require(std::isfinite(view.op.params.rope_angles.magnitude), view, "magnitude is no number");
  return 2 * frequencies.columns;
}

uint64_t rope_columns(const OpView& view) {
  const tenon_rope_params& rope = view.op.params.rope;
  require(rope.style <= TENON_ROPE_HALVES, view, "unknown style");
  require(rope.head_dim > 0 && columns_of(view, 0) % rope.head_dim == 0, view,
          fmt::format("{} columns are not whole heads of {}", columns_of(view, 0), rope.head_dim));
  const uint64_t angles = columns_of(view, 1);
  require(angles % 2 == 0 && angles <= rope.head_dim, view,
          fmt::format("{} angles do not fit a head of {}", angles, rope.head_dim));
  return columns_of(view, 0);
}

uint64_t kv_write_columns(const OpView& view) {
  const tenon_kv_params& kv = view.op.params.kv;
  const tenon_kv_group& group = group_of(view, kv.group, kv.layer);
  require(columns_of(view, 0) == uint64_t{group.kv_heads} * group.key_dim, view,
          fmt::format("the key has {} columns, the cache {} heads of {}", columns_of(view, 0),
                      group.kv_heads, group.key_dim));
  require(columns_of(view, 1) == uint64_t{group.kv_heads} * group.value_dim, view,
          fmt::format("the value has {} columns, the cache {} heads of {}", columns_of(view, 1),
                      group.kv_heads, group.value_dim));
  return 0;
}

uint64_t attention_columns(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_kv_group& group = group_of(view, attention.group, attention.layer);
  require(attention.heads > 0 && attention.heads % group.kv_heads == 0, view,
          fmt::format("{} heads do not share {} KV heads evenly", attention.heads, group.kv_heads));
  require(columns_of(view, 0) == uint64_t{attention.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      attention.heads, group.key_dim));
  require(std::isfinite(attention.scale), view, "scale is no number");
  require(std::isfinite(attention.soft_cap) && attention.soft_cap >= 0, view,
          "soft_cap is negative or no number");
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
}

uint64_t glu_columns(const OpView& view) {
  require(view.op.params.glu.activation <= TENON_ACTIVATION_RELU, view, "unknown activation");
  require(columns_of(view, 0) == columns_of(view, 1), view, "gate and up differ in columns");
  return columns_of(view, 0);
}

uint64_t add_columns(const OpView& view) {
  require(columns_of(view, 0) == columns_of(view, 1), view, "the two inputs differ in columns");
  return columns_of(view, 0);
}

uint64_t scale_columns(const OpView& view) {
  require(std::isfinite(view.op.params.scale.factor), view, "factor is no number");
  return columns_of(view, 0);
}

uint64_t soft_cap_columns(const OpView& view) {
  const float cap = view.op.params.soft_cap.cap;
  require(std::isfinite(cap) && cap > 0, view, "cap is not a positive number");
  return columns_of(view, 0);
}

/// A route's row holds a number and a weight for each chosen expert.
uint64_t moe_route_columns(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  const uint64_t experts = columns_of(view, 0);
  require(experts <= kMaxExperts, view,
          fmt::format("{} experts, at most {}", experts, kMaxExperts));
  require(route.used >= 1 && route.used <= experts, view,
          fmt::format("{} of {} experts are used", route.used, experts));
  require(route.softmax <= TENON_MOE_SOFTMAX_CHOSEN, view, "unknown softmax");
  require(std::isfinite(route.scale), view, "scale is no number");
  return 2 * uint64_t{route.used};
}

uint64_t moe_linear_columns(const OpView& view) {
  const tenon_moe_linear_params& moe = view.op.params.moe_linear;
  const tenon_slot& weight = *view.inputs[2];
  const uint64_t routes = columns_of(view, 1);
  require(moe.experts >= 1 && moe.experts <= kMaxExperts && weight.rows % moe.experts == 0, view,
          fmt::format("\"{}\" has {} rows, which {} experts do not share evenly", weight.name,
                      weight.rows, moe.experts));
  require(moe.sum <= 1, view, "sum is neither 0 nor 1");
  require(routes % 2 == 0 && routes / 2 <= moe.experts, view,
          fmt::format("{} columns are no routes to {} experts", routes, moe.experts));
  const uint64_t used = routes / 2;
  const uint64_t columns = columns_of(view, 0);
  require(columns == weight.columns || columns == used * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not 1 or {} times as many",
                      weight.name, weight.columns, columns, used));
  const uint64_t rows = weight.rows / moe.experts;
  return moe.sum == 1 ? rows : used * rows;
}

uint64_t sigmoid_gate_columns(const OpView& view) {
  require(columns_of(view, 1) == 1, view,
          fmt::format("the gate has {} columns, not 1", columns_of(view, 1)));
  return columns_of(view, 0);
}

constexpr OpInfo kOps[] = {
    {TENON_OP_EMBED, "embed", "W", RowRule::Tokens, embed_columns},
    {TENON_OP_RMS_NORM, "rms_norm", "xW", RowRule::LikeInput, norm_columns},
    {TENON_OP_LAYER_NORM, "layer_norm", "xWw", RowRule::LikeInput, norm_columns},
    {TENON_OP_LINEAR, "linear", "xWw", RowRule::LikeInput, linear_columns},
    {TENON_OP_ROPE_ANGLES, "rope_angles", "C", RowRule::Tokens, rope_angles_columns},
    {TENON_OP_ROPE, "rope", "tt", RowRule::Tokens, rope_columns},
    {TENON_OP_KV_WRITE, "kv_write", "tt", RowRule::NoOutput, kv_write_columns},
    {TENON_OP_ATTENTION, "attention", "tw", RowRule::Tokens, attention_columns},
    {TENON_OP_GLU, "glu", "xx", RowRule::LikeInput, glu_columns},
    {TENON_OP_ADD, "add", "xx", RowRule::LikeInput, add_columns},
    {TENON_OP_SCALE, "scale", "x", RowRule::LikeInput, scale_columns},
    {TENON_OP_GATHER_ROWS, "gather_rows", "t", RowRule::Outputs, same_columns},
    {TENON_OP_SOFT_CAP, "soft_cap", "x", RowRule::LikeInput, soft_cap_columns},
    {TENON_OP_MOE_ROUTE, "moe_route", "x", RowRule::LikeInput, moe_route_columns},
    {TENON_OP_MOE_LINEAR, "moe_linear", "xxW", RowRule::LikeInput, moe_linear_columns},
    {TENON_OP_SIGMOID_GATE, "sigmoid_gate", "xx", RowRule::LikeInput, sigmoid_gate_columns},
};

/// What slot kind a letter of OpInfo::inputs stands for.
uint32_t kind_of_letter(char letter) {
  switch (letter) {
    case 'W':
    case 'w':
      return TENON_SLOT_WEIGHT;
    case 'C':
      return TENON_SLOT_CONSTANT;
    default:
      return TENON_SLOT_ACTIVATION;
  }
}

/// Checks presence, kinds and rows of the inputs; returns the rows that the x inputs share.
uint32_t check_inputs(const OpView& view, const OpInfo& info) {
  const std::string_view letters = info.inputs;
  require(view.op.num_inputs <= letters.size(), view,
          fmt::format("{} inputs, at most {} expected", view.op.num_inputs, letters.size()));
  uint32_t row_class = 0;
  for (uint32_t i = 0; i < view.inputs.size(); ++i) {
    const tenon_slot* slot = view.inputs[i];
    require((slot != nullptr) == (i < view.op.num_inputs), view,
            "the number of inputs is not that of the inputs given");
    if (slot == nullptr) {
      require(i >= letters.size() || letters[i] == 'w', view,
              fmt::format("input {} is missing", i));
      continue;
    }
    require(slot->kind == kind_of_letter(letters[i]), view,
            fmt::format("input {} (\"{}\") is of the wrong kind", i, slot->name));
    if (slot->kind != TENON_SLOT_ACTIVATION) continue;
    const uint32_t expected =
        letters[i] == 't' ? TENON_ROWS_TOKENS : (row_class == 0 ? slot->row_class : row_class);
    require(slot->row_class == expected, view,
            fmt::format("input {} (\"{}\") has the wrong rows", i, slot->name));
    row_class = slot->row_class;
  }
  return row_class;
}

}  // namespace

std::span<const OpInfo> all_ops() noexcept { return kOps; }

const OpInfo* find_op(uint32_t kind) noexcept {
  for (const OpInfo& info : kOps) {
    if (info.kind == kind) return &info;
  }
  return nullptr;
}

OpShape check_op(const OpView& view) {
  const OpInfo* info = find_op(view.op.kind);
  if (info == nullptr)
    fail(Code::Internal, "operation {}: unknown kind {}", view.index, view.op.kind);
  const uint32_t input_rows = check_inputs(view, *info);
  const uint64_t columns = info->columns(view);
  switch (info->rows) {
    case RowRule::Tokens:
      return {TENON_ROWS_TOKENS, columns};
    case RowRule::Outputs:
      return {TENON_ROWS_OUTPUTS, columns};
    case RowRule::LikeInput:
      return {input_rows, columns};
    case RowRule::NoOutput:
      break;
  }
  return {};
}

std::string op_label(uint32_t index, uint32_t kind) {
  const OpInfo* info = find_op(kind);
  return fmt::format("operation {} ({})", index, info == nullptr ? "unknown" : info->name);
}

}  // namespace tenon
