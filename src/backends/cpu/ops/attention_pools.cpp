// attention_pools: over the last positions and compressed rows, one token and some heads per item.
// Rows are gathered span by span. Spans merge in order, so neighbours, slices and threads change no
// bit.
#include <algorithm>

#include "backends/cpu/layouts/area_rows.h"
#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/attention_scratch.h"
#include "backends/cpu/phases/cache_fits.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

bool attention_pools_fits(const OperationTable&, const tenon_program& program,
                          const tenon_op& op) noexcept {
  const tenon_attention_pools_params& params = op.params.attention_pools;
  return latent_supported(program, params.group) && latent_supported(program, params.pool_group);
}

/// Rows that a token attends to: positions, then compressed rows, both ascending.
struct LookedAt {
  uint32_t first_position;
  uint32_t num_positions;
  const int32_t* numbers;  ///< of compressed rows; null: all from 0 on
  uint32_t num_compressed;

  [[nodiscard]] uint32_t size() const noexcept { return num_positions + num_compressed; }
  [[nodiscard]] uint32_t compressed(uint32_t j) const noexcept {
    return numbers == nullptr ? j : static_cast<uint32_t>(numbers[j]);
  }
};

/// numbers [count] ascend and end with -1; may be null.
LookedAt looked_at(const tenon_attention_pools_params& params, const tenon_cache_group& compressed,
                   uint32_t own, const int32_t* numbers, uint64_t count) noexcept {
  LookedAt rows{0, own + 1, numbers, backends::num_rows_before(compressed, own + 1)};
  if (params.window > 0 && own >= params.window) {
    rows.first_position = own - params.window + 1;
    rows.num_positions = params.window;
  }
  if (numbers == nullptr) return rows;
  rows.num_compressed = 0;
  while (rows.num_compressed < count && numbers[rows.num_compressed] >= 0) ++rows.num_compressed;
  return rows;
}

void run_attention_pools(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const tenon_op& op = phase.op;
  const tenon_attention_pools_params& params = op.params.attention_pools;
  const tenon_cache_group& group = run.group(params.group);
  const tenon_cache_group& compressed = run.group(params.pool_group);
  const Executable::ThreadScratch& scratch = run.scratch(thread);
  const uint32_t chunks = compressed_head_chunks(params.heads);
  const uint32_t token = item / chunks;
  const uint32_t first_head = item % chunks * kCompressedHeads;
  const uint32_t heads = std::min(kCompressedHeads, params.heads - first_head);
  const bool selects = op.inputs[2] != TENON_NO_SLOT;
  const LookedAt rows = looked_at(params, compressed, run.token_position(token),
                                  selects ? run.i32_row(op.inputs[2], token) : nullptr,
                                  selects ? run.columns(op.inputs[2]) : 0);
  const CacheBlock block = CacheBlock(group).gathered();
  const uint64_t offset = params.layer * CacheBlock(group).area_bytes();
  const uint64_t compressed_offset = params.pool_layer * CacheBlock(compressed).area_bytes();
  const uint8_t* const* blocks = run.cache_blocks(params.group, token);
  const uint8_t* const* compressed_blocks = run.cache_blocks(params.pool_group, token);
  const float* sinks = run.vector(op.inputs[1]);
  const uint32_t num_spans = (rows.size() - 1) / kAttentionSpan + 1;
  float* partials = num_spans == 1 ? nullptr : run.thread_partials(thread);
  AttentionArgs args{
      .blocks = scratch.areas,
      .area_offset = 0,
      .shape = block,
      .num_tokens = 1,
      .position = 0,
      .window = 0,
      .mask = TENON_MASK_CAUSAL,
      .positions = 0,
      .heads = heads,
      .first_span = 0,
      .end_span = 1,
      .q = run.f32_row(op.inputs[0], token) + uint64_t{first_head} * group.key_dim,
      .q_stride = run.columns(op.inputs[0]),
      .out = run.f32_row(op.outputs[0], token) + uint64_t{first_head} * group.value_dim,
      .out_stride = run.columns(op.outputs[0]),
      .scale = params.scale,
      .soft_cap = 0.0f,
      .sinks = sinks == nullptr ? nullptr : sinks + first_head,
      .bias = {},
      .partials = partials,
      .scratch = scratch.attention,
  };
  for (uint32_t start = 0; start < rows.size(); start += kAttentionSpan) {
    if (run.cancelled()) return;
    AreaRows gathered(block, scratch.selected, scratch.areas);
    const uint32_t end = std::min(start + kAttentionSpan, rows.size());
    for (uint32_t i = start; i < end; ++i) {
      if (i < rows.num_positions) {
        gathered.add(group, blocks, offset, rows.first_position + i);
      } else {
        gathered.add(compressed, compressed_blocks, compressed_offset,
                     rows.compressed(i - rows.num_positions));
      }
    }
    args.position = gathered.count() - 1;
    args.positions = gathered.count();
    run.k.attention[static_cast<uint32_t>(block.type)](args);
    if (partials != nullptr) {
      args.partials += attention_partial_floats(heads, block.value_stride());
    }
  }
  if (partials == nullptr) return;
  args.partials = partials;
  args.end_span = num_spans;
  run.k.attention_merge(args);
}

uint32_t attention_pools_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.num_rows(phase.row_class)) *
         compressed_head_chunks(phase.op.params.attention_pools.heads);
}

/// Scratch for a span of rows.
void attention_pools_scratch(const ScratchContext& context, const Phase& phase,
                             ScratchSizes& sizes) {
  const tenon_attention_pools_params& params = phase.op.params.attention_pools;
  const CacheBlock block = CacheBlock(context.groups[params.group]).gathered();
  count_areas(block, kAttentionSpan, sizes);
  count_attention(std::min(kCompressedHeads, params.heads), block, sizes);
}

uint64_t attention_pools_partials(const ScratchContext& context, const Phase& phase, uint64_t end) {
  const tenon_attention_pools_params& params = phase.op.params.attention_pools;
  const uint32_t selection = phase.op.inputs[2];
  const uint64_t compressed = selection == TENON_NO_SLOT
                                  ? end / backends::row_stride(context.groups[params.pool_group])
                                  : context.plan.slots[selection].slot.columns;
  const uint64_t positions = params.window > 0 ? std::min<uint64_t>(params.window, end) : end;
  const uint64_t spans = (positions + compressed) / kAttentionSpan + 1;
  if (spans == 1) return 0;
  const CacheBlock block(context.groups[params.group]);
  return spans *
         attention_partial_floats(std::min(kCompressedHeads, params.heads), block.value_stride());
}

}  // namespace

constexpr CpuOperation ops::attention_pools{
    .kind = TENON_OP_ATTENTION_POOLS,
    .placement = Placement::Own,
    .fits = attention_pools_fits,
    .phase = {.items = attention_pools_items, .run = run_attention_pools, .uneven = true},
    .scratch = attention_pools_scratch,
    .partials = attention_pools_partials};

}  // namespace tenon::cpu
