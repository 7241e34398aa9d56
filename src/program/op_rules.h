// Checks and rules shared by operations; program/ops defines each operation's own.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "program/ops.h"
#include "quant/formats.h"

namespace tenon::op_rules {

// ---- Checks; each throws Internal that names the operation.

[[noreturn]] inline void refuse(const OpView& view, std::string_view why) {
  fail(Code::Internal, "{}: {}", op_label(view.index, view.op.kind), why);
}

inline void require(bool holds, const OpView& view, std::string_view why) {
  if (!holds) refuse(view, why);
}

inline uint64_t columns_of(const OpView& view, uint32_t input) {
  return view.inputs[input]->columns;
}

/// Refuses unless input `input` is absent or a vector of `columns` values.
inline void require_vector(const OpView& view, uint32_t input, uint64_t columns) {
  const tenon_slot* slot = view.inputs[input];
  if (slot == nullptr || (slot->rows == 1 && slot->columns == columns)) return;
  refuse(view, fmt::format("\"{}\" is [{}, {}], expected [1, {}]", slot->name, slot->rows,
                           slot->columns, columns));
}

/// Refuses a weight of several rows.
inline void require_one_row(const OpView& view, uint32_t input) {
  const tenon_slot& slot = *view.inputs[input];
  require(slot.kind != TENON_SLOT_WEIGHT || slot.rows == 1, view,
          fmt::format("\"{}\" has {} rows, not 1", slot.name, slot.rows));
}

/// Refuses unless the columns of input 0 are a multiple of those of input `input`.
inline void require_pieces(const OpView& view, uint32_t input) {
  require(columns_of(view, 0) % columns_of(view, input) == 0, view,
          fmt::format("{} columns are not {} whole pieces", columns_of(view, 0),
                      columns_of(view, input)));
}

/// Refuses unless the columns of input `input` are whole segments of `size`.
inline void require_segments(const OpView& view, uint32_t input, uint64_t size) {
  require(size > 0 && columns_of(view, input) % size == 0, view,
          fmt::format("{} columns are not whole segments of {}", columns_of(view, input), size));
}

inline const tenon_cache_group& any_group_of(const OpView& view, uint32_t group, uint32_t layer) {
  require(group < view.groups.size(), view, "the cache group does not exist");
  require(layer < view.groups[group].layers, view, "the cache group has no such layer");
  return view.groups[group];
}

/// A cache group that keeps positions.
inline const tenon_cache_group& group_of(const OpView& view, uint32_t group, uint32_t layer) {
  const tenon_cache_group& found = any_group_of(view, group, layer);
  require(found.kind != TENON_CACHE_STATE, view, "the cache group keeps states, not positions");
  return found;
}

/// Refuses unless the state has room for `values` from params.state.offset on.
inline void require_state(const OpView& view, uint64_t values) {
  const tenon_state_params& state = view.op.params.state;
  const tenon_cache_group& group = any_group_of(view, state.group, state.layer);
  require(group.kind == TENON_CACHE_STATE, view, "the cache group keeps positions, not states");
  require(state.offset <= group.state_values && values <= group.state_values - state.offset, view,
          fmt::format("{} values from {} on of a state of {}", values, state.offset,
                      group.state_values));
}

/// Refuses unless input `input` is absent or has `columns` columns.
inline void require_columns(const OpView& view, uint32_t input, uint64_t columns) {
  const tenon_slot* slot = view.inputs[input];
  if (slot == nullptr || slot->columns == columns) return;
  refuse(view,
         fmt::format("\"{}\" has {} columns, expected {}", slot->name, slot->columns, columns));
}

/// Columns per head of input `input`, with `heads` heads.
inline uint64_t head_columns(const OpView& view, uint32_t input, uint32_t heads) {
  const uint64_t columns = columns_of(view, input);
  require(heads > 0 && columns % heads == 0, view,
          fmt::format("\"{}\" has {} columns, which are not {} heads", view.inputs[input]->name,
                      columns, heads));
  return columns / heads;
}

/// Refuses an operation that looks back further than its cache group keeps.
inline void require_within(const OpView& view, uint32_t window, const tenon_cache_group& group) {
  require(group.window == 0 || (window > 0 && window <= group.window), view,
          fmt::format("looks back {} positions, its cache group keeps {}", window, group.window));
}

// ---- Rules that several operations share

inline uint64_t same_columns(const OpView& view) { return columns_of(view, 0); }

/// Cost of a product with `rows` rows of a weight.
inline OpCost matrix_cost(const tenon_slot& weight, uint64_t rows) {
  return {.multiplications = rows * weight.columns,
          .weight_bytes = rows * *row_bytes(*find_format(weight.type), weight.columns)};
}

inline OpCost linear_cost(const OpView& view) {
  return matrix_cost(*view.inputs[1], view.inputs[1]->rows);
}

}  // namespace tenon::op_rules
