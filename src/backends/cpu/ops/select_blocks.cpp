#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/best_candidates.h"
#include "backends/cpu/phases/op_run.h"
#include "backends/cpu/phases/select_index.h"

namespace tenon::cpu {
namespace {

/// Runs one token and head.
void run_select_blocks(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const tenon_select_blocks_params& params = phase.op.params.select_blocks;
  const Executable::ThreadScratch& scratch = run.scratch(thread);
  const uint32_t token = item / params.heads;
  const uint32_t head = item % params.heads;
  const uint32_t own = run.token_position(token);
  const uint32_t last = own / params.block;
  BestCandidates best(scratch.candidates, params.count);
  AttentionArgs args = index_args(run, phase.op, token, head, 1, thread);
  const auto type = static_cast<uint32_t>(args.shape.type);
  float highest = -kInfinity;  // in the current block
  for (uint32_t start = 0; start <= own; start += kAttentionSpan) {
    if (run.cancelled()) return;
    args.first_span = start / kAttentionSpan;
    args.end_span = args.first_span + 1;
    run.k.index_products[type](args, scratch.index_scores);
    const uint32_t end = std::min(start + kAttentionSpan, own + 1);
    for (uint32_t i = start; i < end; ++i) {
      const float product = scratch.index_scores[i - start];
      if (product > highest) highest = product;  // false for NaN
      if ((i + 1) % params.block != 0 && i != own) continue;
      const uint32_t number = i / params.block;
      best.add(last - number < params.local ? kInfinity : highest, number);
      highest = -kInfinity;
    }
  }
  best.write(run.i32_row(phase.op.outputs[0], token) + uint64_t{head} * params.count);
}

uint32_t select_blocks_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.num_rows(phase.row_class)) * phase.op.params.select_blocks.heads;
}

void select_blocks_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) {
  const tenon_select_blocks_params& params = phase.op.params.select_blocks;
  count_index(context.groups[params.group], 1, params.count, false, sizes);
}

}  // namespace

constexpr CpuOperation ops::select_blocks{
    .kind = TENON_OP_SELECT_BLOCKS,
    .placement = Placement::Own,
    .fits = select_fits,
    .phase = {.items = select_blocks_items, .run = run_select_blocks, .uneven = true},
    .scratch = select_blocks_scratch};

}  // namespace tenon::cpu
