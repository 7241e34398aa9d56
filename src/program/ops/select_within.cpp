#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/select_rules.h"

namespace tenon {
namespace {

using namespace op_rules;

OpCost select_within_cost(const OpView& view) {
  OpCost cost = select_cost(view);
  cost.seen[0].most = columns_of(view, 2) * view.op.params.select_within.block;
  return cost;
}

/// The candidates were made over a group of equal stride, in blocks of equal rows.
void connect_select_within(const OpView& view, ProgramFacts& facts) {
  const CandidatesFact made = candidates_of(view);
  const auto found = facts.candidates.find(view.op.inputs[2]);
  require(
      found != facts.candidates.end() && found->second == made, view,
      fmt::format("\"{}\" is no result of a select_candidates of blocks of {} rows over a group "
                  "with stride {}",
                  view.inputs[2]->name, made.block, made.stride));
  connect_select(view, facts);
}

}  // namespace

constexpr OpRule op_table::select_within{.inputs = "tti",
                                         .outputs = "i",
                                         .columns = block_rows_columns,
                                         .cost = select_within_cost,
                                         .connect = connect_select_within};

namespace op {

Slot select_within(ProgramBuilder& builder, Slot q, Slot weights, Slot candidates,
                   const SelectWithinOptions& options) {
  return builder.add(op_rules::select_op(TENON_OP_SELECT_WITHIN, options),
                     {q, weights, candidates});
}

}  // namespace op
}  // namespace tenon
