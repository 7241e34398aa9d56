#include "program/op_rules.h"
#include "program/operations.h"
#include "program/ops/select_rules.h"

namespace tenon {
namespace {

using namespace op_rules;

uint64_t select_blocks_columns(const OpView& view) {
  const tenon_select_blocks_params& select = view.op.params.select_blocks;
  const tenon_cache_group& group = group_of(view, select.group, select.layer);
  require(group.kind == TENON_CACHE_LATENT, view,
          "blocks of positions are selected by rows of a latent cache");
  require_all_positions(view, group);
  require(group.stride <= 1, view, "its cache group has rows for some positions only");
  require(select.heads > 0, view, "no head");
  require(columns_of(view, 0) == uint64_t{select.heads} * group.key_dim, view,
          fmt::format("the query has {} columns, expected {} heads of {}", columns_of(view, 0),
                      select.heads, group.key_dim));
  const uint64_t most = kMaxSelectedInBlocks / select.heads;
  require(select.count > 0 && select.block > 0 && uint64_t{select.count} * select.block <= most,
          view,
          fmt::format("{} blocks of {} positions for {} heads are outside 1..{} positions in all",
                      select.count, select.block, select.heads, kMaxSelectedInBlocks));
  require(select.local <= select.count, view,
          fmt::format("{} blocks are always chosen, more than the {} in all", select.local,
                      select.count));
  return uint64_t{select.heads} * select.count;
}

void connect_select_blocks(const OpView& view, ProgramFacts& facts) {
  const tenon_select_blocks_params& select = view.op.params.select_blocks;
  facts.selections[view.op.outputs[0]] = {select.heads, select.block, false, false};
}

}  // namespace

constexpr OpRule op_table::select_blocks{.inputs = "t",
                                         .outputs = "i",
                                         .columns = select_blocks_columns,
                                         .cost = select_cost,
                                         .connect = connect_select_blocks};

namespace op {

Slot select_blocks(ProgramBuilder& builder, Slot q, const SelectBlocksOptions& options) {
  tenon_op op = new_op(TENON_OP_SELECT_BLOCKS);
  op.params.select_blocks = {options.group, options.layer, options.heads,
                             options.count, options.block, options.local};
  return builder.add(op, {q});
}

}  // namespace op
}  // namespace tenon
