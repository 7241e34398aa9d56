#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/select_rules.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t select_candidates_columns(const OpView& view) {
  const tenon_select_within_params& select = view.op.params.select_within;
  require(uint64_t{select.count} * select.block <= kMaxSelectedInBlocks, view,
          fmt::format("{} blocks of {} rows are more than {} rows in all", select.count,
                      select.block, kMaxSelectedInBlocks));
  return block_rows_columns(view);
}

void connect_select_candidates(const OpView& view, ProgramFacts& facts) {
  facts.candidates[view.op.outputs[0]] = candidates_of(view);
}

}  // namespace

constexpr OpRule op_table::select_candidates{.inputs = "tt",
                                             .outputs = "i",
                                             .columns = select_candidates_columns,
                                             .cost = select_cost,
                                             .connect = connect_select_candidates};

namespace op {

Slot select_candidates(ProgramBuilder& builder, Slot q, Slot weights,
                       const SelectWithinOptions& options) {
  return builder.add(op_rules::select_op(TENON_OP_SELECT_CANDIDATES, options), {q, weights});
}

}  // namespace op
}  // namespace tenon
