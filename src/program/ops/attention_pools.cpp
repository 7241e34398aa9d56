#include <algorithm>
#include <cmath>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t attention_pools_columns(const OpView& view) {
  const tenon_attention_pools_params& attention = view.op.params.attention_pools;
  const tenon_cache_group& group = group_of(view, attention.group, attention.layer);
  const tenon_cache_group& compressed = group_of(view, attention.pool_group, attention.pool_layer);
  require(group.kind == TENON_CACHE_LATENT && compressed.kind == TENON_CACHE_LATENT &&
              group.key_dim == compressed.key_dim && group.value_dim == compressed.value_dim &&
              group.type == compressed.type,
          view, "its cache groups are not of latent rows of one kind");
  require(attention.group != attention.pool_group && group.stride <= 1 && compressed.window == 0,
          view, "its cache groups are not one of positions and one of pools");
  require_within(view, attention.window, group);
  require(attention.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{attention.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      attention.heads, group.key_dim));
  require(std::isfinite(attention.scale), view, "scale is no number");
  require_vector(view, 1, attention.heads);
  return uint64_t{attention.heads} * group.value_dim;
}

OpCost attention_pools_cost(const OpView& view) {
  const tenon_attention_pools_params& attention = view.op.params.attention_pools;
  const tenon_cache_group& group = view.groups[attention.group];
  const uint64_t each = attention.heads * (uint64_t{group.key_dim} + group.value_dim);
  const uint64_t chosen = view.inputs[2] == nullptr ? 0 : columns_of(view, 2);
  const uint32_t stride = std::max(1u, view.groups[attention.pool_group].stride);
  return {.seen = {SeenCost{each, attention.window}, SeenCost{each, chosen, stride}}};
}

/// The selection was made by a select over a group of equal stride.
void connect_attention_pools(const OpView& view, ProgramFacts& facts) {
  if (view.inputs[2] == nullptr) return;
  const auto found = facts.selections.find(view.op.inputs[2]);
  const uint32_t stride =
      std::max(1u, view.groups[view.op.params.attention_pools.pool_group].stride);
  const bool made_alike = found != facts.selections.end() && found->second.parts == 1 &&
                          found->second.block == stride && found->second.of_select;
  require(made_alike, view,
          fmt::format("\"{}\" is no result of a select over a group with stride {}",
                      view.inputs[2]->name, stride));
}

}  // namespace

constexpr OpRule op_table::attention_pools{.inputs = "tws",
                                           .columns = attention_pools_columns,
                                           .cost = attention_pools_cost,
                                           .connect = connect_attention_pools};

namespace op {

Slot attention_pools(ProgramBuilder& builder, Slot q, const PoolAttentionOptions& options) {
  tenon_op op = new_op(TENON_OP_ATTENTION_POOLS);
  op.params.attention_pools = {options.group, options.layer,      options.heads,     options.window,
                               options.scale, options.pool_group, options.pool_layer};
  return builder.add(op, {q, options.sinks, options.selection});
}

}  // namespace op
}  // namespace tenon
