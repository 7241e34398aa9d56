// Rules shared by operations that choose rows by an index. Their parameters share a prefix.
#pragma once

#include <algorithm>

#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon::op_rules {

/// An index reads the rows of all positions.
inline void require_all_positions(const OpView& view, const tenon_cache_group& group) {
  require(group.window == 0, view, "its cache group keeps a window, not all positions");
}

inline uint64_t select_columns(const OpView& view) {
  const tenon_select_params& select = view.op.params.select;
  const tenon_cache_group& group = group_of(view, select.group, select.layer);
  require(group.kind == TENON_CACHE_LATENT, view,
          "positions are selected by rows of a latent cache");
  require_all_positions(view, group);
  require(select.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{select.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      select.heads, group.key_dim));
  require_columns(view, 1, select.heads);
  require(select.count > 0 && select.count <= kMaxSelected, view,
          fmt::format("{} positions are outside 1..{}", select.count, kMaxSelected));
  return select.count;
}

/// The parameters begin like those of select.
inline uint64_t block_rows_columns(const OpView& view) {
  require(view.op.params.select_within.block > 0, view, "blocks of no row");
  return select_columns(view);
}

/// All parameter structs begin with group and layer.
inline OpCost select_cost(const OpView& view) {
  const uint32_t stride = std::max(1u, view.groups[view.op.params.select.group].stride);
  return {.seen = {SeenCost{columns_of(view, 0), 0, stride}}};
}

/// Notes the selection for a later attention.
inline void connect_select(const OpView& view, ProgramFacts& facts) {
  const uint32_t stride = std::max(1u, view.groups[view.op.params.select.group].stride);
  facts.selections[view.op.outputs[0]] = {1, stride, stride > 1, true};
}

inline CandidatesFact candidates_of(const OpView& view) {
  const tenon_select_within_params& select = view.op.params.select_within;
  return {std::max(1u, view.groups[select.group].stride), select.block};
}

inline tenon_op select_op(uint32_t kind, const SelectWithinOptions& o) {
  tenon_op op = new_op(kind);
  op.params.select_within = {o.group, o.layer, o.heads, o.count, o.block};
  return op;
}

}  // namespace tenon::op_rules
