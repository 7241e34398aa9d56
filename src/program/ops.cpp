#include "program/ops.h"

#include <cmath>
#include <string_view>

#include "base/error.h"
#include "quant/formats.h"

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

/// Refuses a weight of several rows.
void require_one_row(const OpView& view, uint32_t input) {
  const tenon_slot& slot = *view.inputs[input];
  require(slot.kind != TENON_SLOT_WEIGHT || slot.rows == 1, view,
          fmt::format("\"{}\" has {} rows, not 1", slot.name, slot.rows));
}

/// Refuses unless the columns of input 0 are as many whole pieces as input `input` has columns.
void require_pieces(const OpView& view, uint32_t input) {
  require(columns_of(view, 0) % columns_of(view, input) == 0, view,
          fmt::format("{} columns are not {} whole pieces", columns_of(view, 0),
                      columns_of(view, input)));
}

/// Refuses unless the columns of input `input` are whole segments of `size`.
void require_segments(const OpView& view, uint32_t input, uint64_t size) {
  require(size > 0 && columns_of(view, input) % size == 0, view,
          fmt::format("{} columns are not whole segments of {}", columns_of(view, input), size));
}

const tenon_cache_group& any_group_of(const OpView& view, uint32_t group, uint32_t layer) {
  require(group < view.groups.size(), view, "the cache group does not exist");
  require(layer < view.groups[group].layers, view, "the cache group has no such layer");
  return view.groups[group];
}

/// A group of positions.
const tenon_cache_group& group_of(const OpView& view, uint32_t group, uint32_t layer) {
  const tenon_cache_group& found = any_group_of(view, group, layer);
  require(found.kind != TENON_CACHE_STATE, view, "the cache group keeps states, not positions");
  return found;
}

/// Refuses unless the part of a state that begins at params.state.offset has room for `values`.
void require_state(const OpView& view, uint64_t values) {
  const tenon_state_params& state = view.op.params.state;
  const tenon_cache_group& group = any_group_of(view, state.group, state.layer);
  require(group.kind == TENON_CACHE_STATE, view, "the cache group keeps positions, not states");
  require(state.offset <= group.state_values && values <= group.state_values - state.offset, view,
          fmt::format("{} values from {} on of a state of {}", values, state.offset,
                      group.state_values));
}

/// Refuses unless input `input` is absent or has `columns` columns.
void require_columns(const OpView& view, uint32_t input, uint64_t columns) {
  const tenon_slot* slot = view.inputs[input];
  if (slot == nullptr || slot->columns == columns) return;
  refuse(view,
         fmt::format("\"{}\" has {} columns, expected {}", slot->name, slot->columns, columns));
}

/// Columns of one of `heads` heads of input `input`.
uint64_t head_columns(const OpView& view, uint32_t input, uint32_t heads) {
  const uint64_t columns = columns_of(view, input);
  require(heads > 0 && columns % heads == 0, view,
          fmt::format("\"{}\" has {} columns, which are not {} heads", view.inputs[input]->name,
                      columns, heads));
  return columns / heads;
}

uint64_t embed_columns(const OpView& view) {
  require(view.op.params.embed.source <= TENON_EMBED_POSITIONS, view, "unknown source");
  return columns_of(view, 0);
}

uint64_t same_columns(const OpView& view) { return columns_of(view, 0); }

uint64_t norm_columns(const OpView& view) {
  const tenon_norm_params& norm = view.op.params.norm;
  const uint64_t columns = columns_of(view, 0);
  require_segments(view, 0, norm.segment);
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

/// Refuses unless each frequency takes a part that positions have.
void require_position_parts(const OpView& view, uint64_t num_frequencies) {
  const tenon_slot* parts = view.inputs[1];
  if (parts == nullptr) return;
  require(parts->rows == 1 && parts->columns == num_frequencies && parts->type == TENON_TYPE_F64,
          view, fmt::format("the parts are not [1, {}] f64", num_frequencies));
  const auto* values = static_cast<const double*>(parts->data);
  for (uint64_t i = 0; i < num_frequencies; ++i) {
    const bool exists =
        values[i] >= 0 && values[i] < view.position_parts && values[i] == std::floor(values[i]);
    require(exists, view,
            fmt::format("part {} of positions of {}", values[i], view.position_parts));
  }
}

uint64_t rope_angles_columns(const OpView& view) {
  const tenon_slot& frequencies = *view.inputs[0];
  require(frequencies.rows == 1 && frequencies.type == TENON_TYPE_F64, view,
          "the frequencies are not [1, p] f64");
  require(std::isfinite(view.op.params.rope_angles.magnitude), view, "magnitude is no number");
  require_position_parts(view, frequencies.columns);
  return 2 * frequencies.columns;
}

uint64_t rope_columns(const OpView& view) {
  const tenon_rope_params& rope = view.op.params.rope;
  require(rope.style <= TENON_ROPE_HALVES, view, "unknown style");
  require(rope.head_dim > 0 && columns_of(view, 0) % rope.head_dim == 0, view,
          fmt::format("{} columns are not whole heads of {}", columns_of(view, 0), rope.head_dim));
  const uint64_t angles = columns_of(view, 1);
  require(
      angles % 2 == 0 && angles <= rope.head_dim && rope.offset <= rope.head_dim - angles, view,
      fmt::format("{} angles from {} do not fit a head of {}", angles, rope.offset, rope.head_dim));
  return columns_of(view, 0);
}

uint64_t kv_write_columns(const OpView& view) {
  const tenon_kv_params& kv = view.op.params.kv;
  const tenon_cache_group& group = group_of(view, kv.group, kv.layer);
  require(columns_of(view, 0) == uint64_t{group.kv_heads} * group.key_dim, view,
          fmt::format("the key has {} columns, the cache {} heads of {}", columns_of(view, 0),
                      group.kv_heads, group.key_dim));
  if (group.kind == TENON_CACHE_LATENT) {
    require(view.inputs[1] == nullptr, view, "values of a latent cache are a part of its keys");
    return 0;
  }
  require(view.inputs[1] != nullptr, view, "the value is missing");
  require(columns_of(view, 1) == uint64_t{group.kv_heads} * group.value_dim, view,
          fmt::format("the value has {} columns, the cache {} heads of {}", columns_of(view, 1),
                      group.kv_heads, group.value_dim));
  return 0;
}

/// A mask reads the groups that hold what it sees. Of a WINDOW group positions before the window of
/// the step's first token may be missing: CAUSAL and CHUNKED look back less than it keeps, and
/// SYMMETRIC, which has the whole sequence in the step, has no use for one.
void check_mask(const OpView& view, const tenon_cache_group& group) {
  const tenon_attention_params& attention = view.op.params.attention;
  require(attention.mask <= TENON_MASK_CROSS, view, fmt::format("unknown mask {}", attention.mask));
  require((attention.mask == TENON_MASK_CROSS) == (group.kind == TENON_CACHE_CROSS), view,
          "a cross mask goes with a cache group of another text, and no other mask does");
  require(attention.mask != TENON_MASK_CROSS || attention.window == 0, view,
          "a cross mask has no window");
  require(attention.mask != TENON_MASK_CHUNKED || attention.window > 0, view,
          "chunks of no position");
  require(attention.mask != TENON_MASK_SYMMETRIC || group.kind != TENON_CACHE_WINDOW, view,
          "a symmetric mask sees the whole sequence, its cache group keeps a window");
  require(group.kind != TENON_CACHE_WINDOW ||
              (attention.window > 0 && attention.window <= group.window),
          view,
          fmt::format("looks back {} positions, its cache group keeps {}", attention.window,
                      group.window));
}

/// T5's buckets: one of a side at least holds a single distance, and one more.
void check_relative_bias(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_slot& table = *view.inputs[2];
  require(table.kind == TENON_SLOT_WEIGHT && table.type == TENON_TYPE_F32 &&
              table.columns == attention.heads && table.rows <= kMaxBuckets,
          view,
          fmt::format("\"{}\" is [{}, {}], expected at most {} buckets of {} f32", table.name,
                      table.rows, table.columns, kMaxBuckets, attention.heads));
  require(attention.two_sided <= 1, view, "two_sided is neither 0 nor 1");
  const uint64_t sides = attention.two_sided + 1;
  require(table.rows % sides == 0 && table.rows / sides >= 2, view,
          fmt::format("{} buckets are too few or do not share {} sides evenly", table.rows, sides));
  require(
      attention.max_distance > table.rows / sides / 2 && attention.max_distance <= kMaxBiasDistance,
      view,
      fmt::format("max_distance {} is outside {}..{}", attention.max_distance,
                  table.rows / sides / 2 + 1, kMaxBiasDistance));
}

void check_bias(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_slot* bias = view.inputs[2];
  require(attention.bias <= TENON_BIAS_RELATIVE, view,
          fmt::format("unknown bias {}", attention.bias));
  require((attention.bias != TENON_BIAS_NONE) == (bias != nullptr), view,
          "a bias has an input, and nothing else has");
  if (bias == nullptr) return;
  require(attention.mask != TENON_MASK_CROSS, view,
          "a bias goes by distances, and there are none to another text");
  if (attention.bias == TENON_BIAS_RELATIVE) return check_relative_bias(view);
  require(bias->kind == TENON_SLOT_CONSTANT && bias->type == TENON_TYPE_F64, view,
          "the slopes are no constant of f64");
  require_vector(view, 2, attention.heads);
}

uint64_t attention_columns(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_cache_group& group = group_of(view, attention.group, attention.layer);
  require(attention.heads > 0 && attention.heads % group.kv_heads == 0, view,
          fmt::format("{} heads do not share {} KV heads evenly", attention.heads, group.kv_heads));
  require(columns_of(view, 0) == uint64_t{attention.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      attention.heads, group.key_dim));
  require(std::isfinite(attention.scale), view, "scale is no number");
  require(std::isfinite(attention.soft_cap) && attention.soft_cap >= 0, view,
          "soft_cap is negative or no number");
  check_mask(view, group);
  check_bias(view);
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
}

uint64_t glu_columns(const OpView& view) {
  const tenon_glu_params& glu = view.op.params.glu;
  require(glu.activation <= TENON_ACTIVATION_RELU, view, "unknown activation");
  require(columns_of(view, 0) == columns_of(view, 1), view, "gate and up differ in columns");
  require(std::isfinite(glu.alpha), view, "alpha is no number");
  require(glu.alpha == 0 || glu.alpha == 1 || glu.activation == TENON_ACTIVATION_SILU, view,
          "only SILU has an alpha");
  require(std::isfinite(glu.limit) && glu.limit >= 0, view, "limit is negative or no number");
  require(std::isfinite(glu.up_offset), view, "up_offset is no number");
  return columns_of(view, 0);
}

uint64_t add_columns(const OpView& view) {
  require(columns_of(view, 0) == columns_of(view, 1), view, "the two inputs differ in columns");
  require_one_row(view, 1);
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

/// Of each run of experts, as many as are chosen among.
void require_expert_groups(const OpView& view, uint64_t experts) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  if (route.groups <= 1) return;
  require(experts % route.groups == 0, view,
          fmt::format("{} experts are not {} equal groups", experts, route.groups));
  require(route.groups_used >= 1 && route.groups_used <= route.groups, view,
          fmt::format("{} of {} groups are used", route.groups_used, route.groups));
  require(route.used <= experts / route.groups * route.groups_used, view,
          fmt::format("{} groups of {} do not hold {} experts", route.groups_used,
                      experts / route.groups, route.used));
}

/// A number and a weight for each chosen expert.
uint64_t moe_route_columns(const OpView& view) {
  const tenon_moe_route_params& route = view.op.params.moe_route;
  const uint64_t experts = columns_of(view, 0);
  require(experts <= kMaxExperts, view,
          fmt::format("{} experts, at most {}", experts, kMaxExperts));
  require(route.used >= 1 && route.used <= experts, view,
          fmt::format("{} of {} experts are used", route.used, experts));
  require(route.scoring <= TENON_MOE_SIGMOID, view, "unknown scoring");
  require(std::isfinite(route.scale), view, "scale is no number");
  require(route.normalise <= (route.scoring == TENON_MOE_SOFTMAX_CHOSEN ? 0u : 1u), view,
          "normalise is neither 0 nor 1, or SOFTMAX_CHOSEN has it");
  require(std::isfinite(route.min_sum) && route.min_sum >= 0, view,
          "min_sum is negative or no number");
  require_expert_groups(view, experts);
  require_vector(view, 1, experts);
  require_vector(view, 2, experts);
  return route.used;
}

uint64_t moe_linear_columns(const OpView& view) {
  const tenon_moe_linear_params& moe = view.op.params.moe_linear;
  const tenon_slot& weight = *view.inputs[2];
  const uint64_t used = columns_of(view, 1);
  require(moe.experts >= 1 && moe.experts <= kMaxExperts && weight.rows % moe.experts == 0, view,
          fmt::format("\"{}\" has {} rows, which {} experts do not share evenly", weight.name,
                      weight.rows, moe.experts));
  require(moe.sum <= 1, view, "sum is neither 0 nor 1");
  require(moe.weigh <= TENON_MOE_WEIGHT_INPUTS, view, "weigh is neither 0 nor 1");
  const bool weighted = view.inputs[3] != nullptr;
  require(weighted || moe.weigh == TENON_MOE_WEIGHT_OUTPUTS, view, "no weights for the inputs");
  require(used <= moe.experts, view,
          fmt::format("{} columns are no routes to {} experts", used, moe.experts));
  require(!weighted || columns_of(view, 3) == used, view,
          fmt::format("{} weights for {} experts", weighted ? columns_of(view, 3) : 0, used));
  const uint64_t columns = columns_of(view, 0);
  require(columns == weight.columns || columns == used * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not 1 or {} times as many",
                      weight.name, weight.columns, columns, used));
  const uint64_t rows = weight.rows / moe.experts;
  const tenon_slot* bias = view.inputs[4];
  require(bias == nullptr || (bias->rows == moe.experts && bias->columns == rows), view,
          fmt::format("the bias is not [{}, {}]", moe.experts, rows));
  return moe.sum == 1 ? rows : used * rows;
}

uint64_t sigmoid_gate_columns(const OpView& view) {
  require_pieces(view, 1);
  return columns_of(view, 0);
}

uint64_t activate_columns(const OpView& view) {
  const tenon_activate_params& activate = view.op.params.activate;
  require(activate.activation <= TENON_ACTIVATION_EXP, view, "unknown activation");
  const bool numbers = std::isfinite(activate.alpha_p) && std::isfinite(activate.alpha_n) &&
                       std::isfinite(activate.beta) && std::isfinite(activate.epsilon);
  require(activate.activation != TENON_ACTIVATION_XIELU || numbers, view,
          "a parameter of XIELU is no number");
  return columns_of(view, 0);
}

uint64_t mul_columns(const OpView& view) {
  require_pieces(view, 1);
  require_one_row(view, 1);
  return columns_of(view, 0);
}

uint64_t sum_segments_columns(const OpView& view) {
  const uint64_t size = view.op.params.segments.size;
  require_segments(view, 0, size);
  return columns_of(view, 0) / size;
}

uint64_t slice_columns(const OpView& view) {
  const tenon_slice_params& slice = view.op.params.slice;
  require_segments(view, 0, slice.segment);
  require(slice.columns > 0 && uint64_t{slice.first} + slice.columns <= slice.segment, view,
          fmt::format("{} columns from {} of segments of {}", slice.columns, slice.first,
                      slice.segment));
  return columns_of(view, 0) / slice.segment * slice.columns;
}

uint64_t concat_columns(const OpView& view) {
  const tenon_concat_params& concat = view.op.params.concat;
  require(concat.broadcast <= 1, view, "broadcast is neither 0 nor 1");
  for (const uint32_t input : {0u, 1u}) {
    if (input == 1 && concat.broadcast == 1) continue;
    require(concat.segments > 0 && columns_of(view, input) % concat.segments == 0, view,
            fmt::format("{} columns are not {} whole segments", columns_of(view, input),
                        concat.segments));
  }
  const uint64_t times = concat.broadcast == 1 ? concat.segments : 1;
  return columns_of(view, 0) + times * columns_of(view, 1);
}

uint64_t linear_heads_columns(const OpView& view) {
  const uint64_t heads = view.op.params.linear_heads.heads;
  const tenon_slot& weight = *view.inputs[1];
  require(heads > 0 && weight.rows % heads == 0, view,
          fmt::format("\"{}\" has {} rows, which {} heads do not share evenly", weight.name,
                      weight.rows, heads));
  require(columns_of(view, 0) == heads * weight.columns, view,
          fmt::format("\"{}\" has {} columns, its input has {}, not {} times as many", weight.name,
                      weight.columns, columns_of(view, 0), heads));
  return weight.rows;
}

uint64_t position_scale_columns(const OpView& view) {
  const tenon_position_scale_params& scale = view.op.params.position_scale;
  require(std::isfinite(scale.scale), view, "scale is no number");
  require(scale.length > 0, view, "length is 0");
  return columns_of(view, 0);
}

uint64_t pool_columns(const OpView& view) {
  require(view.op.params.pool.kind <= TENON_POOL_LAST, view, "unknown kind");
  return columns_of(view, 0);
}

uint64_t token_shift_state(const OpView& view) { return columns_of(view, 0); }

uint64_t token_shift_columns(const OpView& view) {
  require_state(view, token_shift_state(view));
  return columns_of(view, 0);
}

uint64_t conv_state(const OpView& view) {
  return (view.inputs[1]->columns - 1) * columns_of(view, 0);
}

uint64_t conv_columns(const OpView& view) {
  const tenon_slot& weight = *view.inputs[1];
  const uint64_t columns = columns_of(view, 0);
  require(weight.rows == columns, view,
          fmt::format("\"{}\" has filters for {} columns, its input has {}", weight.name,
                      weight.rows, columns));
  require(weight.columns <= UINT32_MAX, view, "a filter is too long");
  require_vector(view, 2, columns);
  require_state(view, conv_state(view));
  return columns;
}

uint64_t ssm_scan_state(const OpView& view) {
  return columns_of(view, 0) * view.op.params.ssm_scan.size;
}

uint64_t ssm_scan_columns(const OpView& view) {
  const tenon_ssm_scan_params& scan = view.op.params.ssm_scan;
  const uint64_t columns = columns_of(view, 0);
  head_columns(view, 0, scan.heads);
  require(scan.groups > 0 && scan.heads % scan.groups == 0, view,
          fmt::format("{} heads do not share {} groups evenly", scan.heads, scan.groups));
  require(scan.size > 0, view, "a state of no columns");
  require_columns(view, 1, scan.heads);
  const tenon_slot& a = *view.inputs[2];
  require(a.rows == scan.heads && (a.columns == 1 || a.columns == scan.size), view,
          fmt::format("\"{}\" is [{}, {}], expected [{}, 1 or {}]", a.name, a.rows, a.columns,
                      scan.heads, scan.size));
  for (const uint32_t input : {3u, 4u}) {
    require_columns(view, input, uint64_t{scan.groups} * scan.size);
  }
  require_vector(view, 5, scan.heads);
  require_state(view, ssm_scan_state(view));
  return columns;
}

uint64_t delta_rule_state(const OpView& view) {
  return columns_of(view, 0) / view.op.params.delta_rule.key_heads * columns_of(view, 2);
}

uint64_t delta_rule_columns(const OpView& view) {
  const tenon_delta_rule_params& rule = view.op.params.delta_rule;
  const uint64_t key_dim = head_columns(view, 0, rule.key_heads);
  head_columns(view, 2, rule.value_heads);
  require(rule.value_heads % rule.key_heads == 0, view,
          fmt::format("{} value heads do not share {} key heads evenly", rule.value_heads,
                      rule.key_heads));
  require_columns(view, 1, columns_of(view, 0));
  const uint64_t decays = columns_of(view, 3);
  require(decays == rule.value_heads || decays == rule.value_heads * key_dim, view,
          fmt::format("{} decays for {} heads of {} keys", decays, rule.value_heads, key_dim));
  require_columns(view, 4, rule.value_heads);
  require(rule.interleaved <= 1, view, "interleaved is neither 0 nor 1");
  require(std::isfinite(rule.scale), view, "scale is no number");
  require_state(view, delta_rule_state(view));
  return columns_of(view, 2);
}

uint64_t wkv7_state(const OpView& view) {
  const uint64_t columns = columns_of(view, 0);
  return columns / view.op.params.wkv7.heads * columns;
}

uint64_t wkv7_columns(const OpView& view) {
  head_columns(view, 0, view.op.params.wkv7.heads);
  for (const uint32_t input : {1u, 2u, 3u, 4u, 5u}) {
    require_columns(view, input, columns_of(view, 0));
  }
  require_state(view, wkv7_state(view));
  return columns_of(view, 0);
}

// ---- Cost -----------------------------------------------------------------------------------------

/// Of a product with `rows` rows of a weight.
OpCost matrix_cost(const tenon_slot& weight, uint64_t rows) {
  return {rows * weight.columns, rows * *row_bytes(*find_format(weight.type), weight.columns), 0};
}

OpCost linear_cost(const OpView& view) {
  return matrix_cost(*view.inputs[1], view.inputs[1]->rows);
}

/// Of experts, those count that one token uses.
OpCost moe_linear_cost(const OpView& view) {
  const tenon_slot& weight = *view.inputs[2];
  return matrix_cost(weight,
                     weight.rows / view.op.params.moe_linear.experts * columns_of(view, 1));
}

OpCost attention_cost(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  if (attention.mask == TENON_MASK_CROSS) return {};  // positions of another text
  const tenon_cache_group& group = view.groups[attention.group];
  return {0, 0, attention.heads * (uint64_t{group.key_dim} + group.value_dim)};
}

OpCost conv_cost(const OpView& view) { return matrix_cost(*view.inputs[1], view.inputs[1]->rows); }

/// For each value of the state a decay, what is added, and a term of the result.
OpCost ssm_scan_cost(const OpView& view) { return {0, 0, 0, 3 * ssm_scan_state(view)}; }

/// The same, and a term of the product with the key.
OpCost delta_rule_cost(const OpView& view) { return {0, 0, 0, 4 * delta_rule_state(view)}; }

/// The same, and what is added is two products.
OpCost wkv7_cost(const OpView& view) { return {0, 0, 0, 5 * wkv7_state(view)}; }

constexpr OpInfo kOps[] = {
    {TENON_OP_EMBED, "embed", "W", "x", RowRule::Tokens, embed_columns},
    {TENON_OP_RMS_NORM, "rms_norm", "xw", "x", RowRule::LikeInput, norm_columns},
    {TENON_OP_LAYER_NORM, "layer_norm", "xww", "x", RowRule::LikeInput, norm_columns},
    {TENON_OP_LINEAR, "linear", "xWw", "x", RowRule::LikeInput, linear_columns, linear_cost},
    {TENON_OP_ROPE_ANGLES, "rope_angles", "Cc", "x", RowRule::Tokens, rope_angles_columns},
    {TENON_OP_ROPE, "rope", "tt", "x", RowRule::Tokens, rope_columns},
    {TENON_OP_KV_WRITE, "kv_write", "ty", "", RowRule::Tokens, kv_write_columns},
    {TENON_OP_ATTENTION, "attention", "twb", "x", RowRule::Tokens, attention_columns,
     attention_cost},
    {TENON_OP_GLU, "glu", "xx", "x", RowRule::LikeInput, glu_columns},
    {TENON_OP_ADD, "add", "xv", "x", RowRule::LikeInput, add_columns},
    {TENON_OP_SCALE, "scale", "x", "x", RowRule::LikeInput, scale_columns},
    {TENON_OP_GATHER_ROWS, "gather_rows", "t", "x", RowRule::Outputs, same_columns},
    {TENON_OP_SOFT_CAP, "soft_cap", "x", "x", RowRule::LikeInput, soft_cap_columns},
    {TENON_OP_MOE_ROUTE, "moe_route", "xww", "ix", RowRule::LikeInput, moe_route_columns},
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
};

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
             slot.type == (letter == 'i' ? TENON_TYPE_I32 : TENON_TYPE_F32);
  }
}

bool may_be_absent(char letter) {
  return letter == 'w' || letter == 'y' || letter == 'b' || letter == 'c';
}

/// Checks presence, kinds and rows of the inputs; returns the rows that the activations share.
uint32_t check_inputs(const OpView& view, const OpInfo& info) {
  const std::string_view letters = info.inputs;
  require(view.op.num_inputs <= letters.size(), view,
          fmt::format("{} inputs, at most {} expected", view.op.num_inputs, letters.size()));
  require(view.op.num_inputs == 0 || view.inputs[view.op.num_inputs - 1] != nullptr, view,
          "the last of the inputs is missing");
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
    const uint32_t expected =
        letters[i] == 't' ? TENON_ROWS_TOKENS : (row_class == 0 ? slot->row_class : row_class);
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
