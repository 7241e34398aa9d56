#include "backends/cpu/phases/attention_scratch.h"

#include <algorithm>

#include "backends/common/selected_positions.h"
#include "backends/cpu/layouts/cache_block.h"

namespace tenon::cpu {
namespace {

void count_areas(const CacheBlock& block, uint64_t positions, AttentionScratch& scratch) {
  const uint64_t areas = (positions + block.block_tokens - 1) / block.block_tokens;
  scratch.areas = std::max(scratch.areas, areas);
  scratch.area_bytes = std::max(scratch.area_bytes, areas * block.area_bytes());
}

void count_floats(uint64_t columns, const CacheBlock& block, AttentionScratch& scratch) {
  scratch.floats = std::max<uint64_t>(scratch.floats, attention_scratch_floats(columns, block));
}

void count_select(const tenon_op& op, const tenon_cache_group& group, AttentionScratch& scratch) {
  const CacheBlock block(group);
  const bool by_head = op.kind == TENON_OP_SELECT_BLOCKS;
  const uint32_t count = by_head ? op.params.select_blocks.count : op.params.select.count;
  scratch.candidates = std::max(scratch.candidates, 2 * uint64_t{count});
  const bool gathers = backends::row_stride(group) > 1 || op.kind == TENON_OP_SELECT_WITHIN;
  if (gathers) count_areas(block.gathered(), kAttentionSpan, scratch);
  count_floats(by_head ? 1 : op.params.select.heads, block, scratch);
}

/// selected: columns of the selection
void count_selected(const tenon_attention_params& params, const tenon_cache_group& group,
                    uint64_t selected, AttentionScratch& scratch) {
  const CacheBlock block(group);
  const uint64_t numbers = selected / backends::selection_parts(params);
  count_areas(block, backends::most_selected(params, numbers), scratch);
  count_floats(selected_heads(params, group), block, scratch);
}

/// A span of rows at a time.
void count_pools(const tenon_attention_pools_params& params, const tenon_cache_group& group,
                 AttentionScratch& scratch) {
  const CacheBlock block = CacheBlock(group).gathered();
  count_areas(block, kAttentionSpan, scratch);
  count_floats(std::min(kPoolHeads, params.heads), block, scratch);
}

}  // namespace

uint64_t pool_partial_floats(const PhasePlan& plan, std::span<const tenon_cache_group> groups,
                             uint64_t end) {
  uint64_t floats = 0;
  for (const Phase& phase : plan.phases) {
    if (phase.kind != PhaseKind::AttentionPools) continue;
    const tenon_attention_pools_params& params = phase.attention.params.attention_pools;
    const uint32_t selection = phase.attention.inputs[2];
    const uint64_t pools = selection == TENON_NO_SLOT
                               ? end / backends::row_stride(groups[params.pool_group])
                               : plan.slots[selection].slot.columns;
    const uint64_t positions = params.window > 0 ? std::min<uint64_t>(params.window, end) : end;
    const uint64_t spans = (positions + pools) / kAttentionSpan + 1;
    if (spans == 1) continue;
    const CacheBlock block(groups[params.group]);
    floats = std::max(floats, spans * attention_partial_floats(std::min(kPoolHeads, params.heads),
                                                               block.value_stride()));
  }
  return floats;
}

AttentionScratch attention_scratch(const PhasePlan& plan, std::span<const tenon_cache_group> groups,
                                   std::span<const AttentionPlan> attention_plans) {
  AttentionScratch scratch;
  for (const Phase& phase : plan.phases) {
    if (phase.kind == PhaseKind::Select) {
      count_select(phase.select, groups[phase.select.params.select.group], scratch);
    } else if (phase.kind == PhaseKind::AttentionPools) {
      const tenon_attention_pools_params& params = phase.attention.params.attention_pools;
      count_pools(params, groups[params.group], scratch);
    } else if (phase.kind == PhaseKind::Attention && phase.looks_at_selected()) {
      const tenon_attention_params& params = phase.attention.params.attention;
      count_selected(params, groups[params.group],
                     plan.slots[phase.attention.inputs[3]].slot.columns, scratch);
    } else if (phase.kind == PhaseKind::Attention) {
      const AttentionShape& shape = attention_plans[phase.attention_plan].shape();
      count_floats(uint64_t{shape.max_tile_tokens()} * shape.heads, shape.block, scratch);
    }
  }
  return scratch;
}

}  // namespace tenon::cpu
