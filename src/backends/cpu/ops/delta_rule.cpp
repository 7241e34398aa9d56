#include <algorithm>

#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/recurrence.h"

namespace tenon::cpu {
namespace {

StateTiles delta_rule_state_tiles(const OpRun& run, const tenon_op& op) noexcept {
  return delta_rule_tiles(op.params.delta_rule, run.plan().slots[op.inputs[0]].slot,
                          run.plan().slots[op.inputs[2]].slot);
}

uint64_t delta_rule_chunks(const OpRun& run, const tenon_op& op) noexcept {
  return delta_rule_state_tiles(run, op).count();
}

void run_delta_rule(OpRun& run, const RecurrentItem& item, uint32_t thread) noexcept {
  const tenon_op& op = item.op;
  const tenon_delta_rule_params& params = op.params.delta_rule;
  const StateTiles tiles = delta_rule_state_tiles(run, op);
  const StateTile tile = tiles.tile(item.chunk);
  const uint32_t token = item.sequence.first_token;
  const uint64_t key = backends::key_head(params, tile.head) * tiles.rows;
  const uint64_t value = tile.head * tiles.lanes + tile.first_lane;
  DeltaRuleArgs args{};
  args.scan = begin_scan(run, item, tiles, tile, value);
  args.q = run.f32_row(op.inputs[0], token) + key;
  args.k = run.f32_row(op.inputs[1], token) + key;
  args.v = run.f32_row(op.inputs[2], token) + value;
  args.decay_stride = run.columns(op.inputs[3]);
  args.decay_per_row = args.decay_stride != params.value_heads;
  args.decay = run.f32_row(op.inputs[3], token) + tile.head * (args.decay_per_row ? tiles.rows : 1);
  args.beta = run.f32_row(op.inputs[4], token) + tile.head;
  args.key_stride = run.columns(op.inputs[0]);
  args.beta_stride = params.value_heads;
  args.scale = params.scale;
  args.scratch = run.scratch(thread).recurrence;
  run.k.delta_rule(args);
}

void delta_rule_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) {
  const uint64_t columns = context.plan.slots[phase.op.inputs[0]].slot.columns;
  sizes.recurrence =
      std::max(sizes.recurrence, 2 * (columns / phase.op.params.delta_rule.key_heads));
}

}  // namespace

constexpr CpuOperation ops::delta_rule{.kind = TENON_OP_DELTA_RULE,
                                       .placement = Placement::Own,
                                       .fits = recurrence_fits,
                                       .phase = kRecurrentPhase<delta_rule_chunks, run_delta_rule>,
                                       .scratch = delta_rule_scratch};

}  // namespace tenon::cpu
