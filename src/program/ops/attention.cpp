#include <algorithm>
#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

/// Requires the group's kind and window to hold all positions that the mask sees. In a group with a
/// window, positions before the window of the step's first token may be missing: CAUSAL and CHUNKED
/// look back less than that. SYMMETRIC has the whole sequence in the step and needs no window.
void check_mask(const OpView& view, const tenon_cache_group& group) {
  const tenon_attention_params& attention = view.op.params.attention;
  require(attention.mask <= TENON_MASK_CROSS, view, fmt::format("unknown mask {}", attention.mask));
  require((attention.mask == TENON_MASK_CROSS) == (group.kind == TENON_CACHE_CROSS), view,
          "a cross mask goes with a cache group of another text, and no other mask does");
  require(attention.mask != TENON_MASK_CROSS || attention.window == 0, view,
          "a cross mask has no window");
  require(attention.mask != TENON_MASK_CHUNKED || attention.window > 0, view,
          "chunks of no position");
  require(attention.mask != TENON_MASK_SYMMETRIC || group.window == 0, view,
          "a symmetric mask sees the whole sequence, its cache group keeps a window");
  require_within(view, attention.window, group);
}

/// T5's buckets: on each side at least one single-distance bucket and another bucket.
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

/// A selection is made among all positions, without distances.
void check_selection(const OpView& view, const tenon_cache_group& group) {
  if (view.inputs[3] == nullptr) return;
  const tenon_attention_params& attention = view.op.params.attention;
  require(group.kind == TENON_CACHE_LATENT || group.kind == TENON_CACHE_FULL, view,
          "a selection goes with a cache of all positions");
  require(
      attention.selections <= 1 || attention.selections == group.kv_heads, view,
      fmt::format("a selection of {} parts for {} KV heads", attention.selections, group.kv_heads));
  require(attention.mask == TENON_MASK_CAUSAL && attention.window == 0 &&
              attention.bias == TENON_BIAS_NONE,
          view, "a selection goes with a causal mask, without window and bias");
}

uint64_t attention_columns(const OpView& view) {
  const tenon_attention_params& attention = view.op.params.attention;
  const tenon_cache_group& group = group_of(view, attention.group, attention.layer);
  require(group.stride <= 1, view, "its cache group has rows for some positions only");
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
  check_selection(view, group);
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
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

/// The selection was made by a select with equal parts and positions per number.
void connect_attention(const OpView& view, ProgramFacts& facts) {
  if (view.inputs[3] == nullptr) return;
  const auto found = facts.selections.find(view.op.inputs[3]);
  require(found != facts.selections.end(), view,
          fmt::format("\"{}\" is no result of select", view.inputs[3]->name));
  const tenon_attention_params& attention = view.op.params.attention;
  const SelectionFact& made = found->second;
  if (std::max(1u, attention.selections) == made.parts &&
      std::max(1u, attention.selected_block) == made.block &&
      attention.selected_rest == (made.rest ? 1u : 0u)) {
    return;
  }
  refuse(view, fmt::format("\"{}\" has {} parts, whose numbers stand for {} positions{}",
                           view.inputs[3]->name, made.parts, made.block,
                           made.rest ? ", beside the rest" : ""));
}

}  // namespace

constexpr OpRule op_table::attention{.inputs = "twbs",
                                     .columns = attention_columns,
                                     .cost = attention_cost,
                                     .connect = connect_attention};

namespace op {

Slot attention(ProgramBuilder& builder, Slot q, const AttentionOptions& options) {
  tenon_op op = new_op(TENON_OP_ATTENTION);
  tenon_attention_params& attention = op.params.attention;
  attention.group = options.group;
  attention.layer = options.layer;
  attention.heads = options.heads;
  attention.window = options.window;
  attention.scale = options.scale;
  attention.soft_cap = options.soft_cap;
  attention.mask = options.mask;
  attention.bias = options.bias;
  attention.two_sided = options.two_sided ? 1 : 0;
  attention.max_distance = options.max_distance;
  if (options.selection != kNoSlot) {
    attention.selections = options.selections;
    attention.selected_block = options.selected_block;
    attention.selected_rest = options.selected_rest ? 1 : 0;
  }
  return builder.add(op, {q, options.sinks, options.bias_values, options.selection});
}

}  // namespace op
}  // namespace tenon
