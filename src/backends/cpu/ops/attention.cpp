#include <algorithm>
#include <vector>

#include "abi/relative_bucket.h"
#include "abi/selected_positions.h"
#include "backends/cpu/layouts/area_rows.h"
#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/attention_scratch.h"
#include "backends/cpu/phases/cache_fits.h"
#include "backends/cpu/phases/op_run.h"

namespace tenon::cpu {
namespace {

bool selects(const tenon_op& op) noexcept { return op.inputs[3] != TENON_NO_SLOT; }

bool selection_supported(const tenon_program& program, const tenon_attention_params& params) {
  const tenon_cache_group& group = groups_of(program)[params.group];
  return (group.kind == TENON_CACHE_LATENT || group.kind == TENON_CACHE_FULL) &&
         (params.selections <= 1 || params.selections == group.kv_heads);
}

bool attention_fits(const OperationTable&, const tenon_program& program,
                    const tenon_op& op) noexcept {
  const tenon_attention_params& params = op.params.attention;
  if (selects(op) && (params.mask != TENON_MASK_CAUSAL || params.window != 0 ||
                      params.bias != TENON_BIAS_NONE || !selection_supported(program, params))) {
    return false;
  }
  return group_supported(program, params.group) && params.mask <= TENON_MASK_CROSS &&
         params.bias <= TENON_BIAS_RELATIVE;
}

/// AttentionBias::buckets for a table of `rows`.
std::vector<uint16_t> buckets_of(const tenon_attention_params& params, uint32_t rows) {
  const int64_t reach = params.max_distance;
  std::vector<uint16_t> buckets;
  buckets.reserve(static_cast<size_t>(2 * reach + 1));
  for (int64_t distance = -reach; distance <= reach; ++distance) {
    buckets.push_back(static_cast<uint16_t>(backends::relative_bucket(distance, rows, params)));
  }
  return buckets;
}

void prepare_attention(const PhasePlan& plan, Phase& phase) {
  if (phase.op.params.attention.bias != TENON_BIAS_RELATIVE) return;
  const auto rows = static_cast<uint32_t>(plan.slots[phase.op.inputs[2]].slot.rows);
  phase.buckets = buckets_of(phase.op.params.attention, rows);
}

/// Columns of the query heads of a KV head.
uint64_t attention_quantises(const tenon_op& op,
                             std::span<const tenon_cache_group> groups) noexcept {
  const tenon_cache_group& group = groups[op.params.attention.group];
  return uint64_t{op.params.attention.heads} / group.kv_heads * group.value_dim;
}

/// Bias for query heads from `first_head` on.
AttentionBias bias_of(const OpRun& run, const Phase& phase, uint64_t first_head) noexcept {
  const tenon_attention_params& params = phase.op.params.attention;
  const uint32_t slot = phase.op.inputs[2];
  AttentionBias bias;
  if (params.bias == TENON_BIAS_ALIBI)
    bias.slopes = run.program().constant(slot).data() + first_head;
  if (params.bias != TENON_BIAS_RELATIVE) return bias;
  bias.table = run.vector(slot) + first_head;
  bias.table_stride = params.heads;
  bias.buckets = phase.buckets.data();
  bias.reach = params.max_distance;
  return bias;
}

void run_seen(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const tenon_attention_params& params = phase.op.params.attention;
  AttentionPlan& plan = run.attention_plan(phase.attention_plan);
  const AttentionShape& shape = plan.shape();
  const AttentionChunk& chunk = plan.chunk(item);
  const AttentionTile& tile = plan.tile(chunk);
  const uint32_t kv_head = plan.kv_head(item);
  const uint32_t query = phase.op.inputs[0];
  const float* sinks = run.vector(phase.op.inputs[1]);
  const uint64_t area = static_cast<uint64_t>(params.layer) * shape.kv_heads + kv_head;
  const uint64_t first_head = static_cast<uint64_t>(kv_head) * shape.heads;
  const uint64_t out_column = first_head * shape.block.value_dim;
  const uint32_t token = tile.first_token;

  AttentionArgs args{
      .blocks = run.cache_blocks(shape.group, token),
      .area_offset = area * shape.block.area_bytes(),
      .shape = shape.block,
      .num_tokens = tile.num_tokens,
      .position = run.token_position(token),
      .window = shape.window,
      .mask = shape.mask,
      .positions = tile.positions,
      .heads = shape.heads,
      .first_span = chunk.first_span,
      .end_span = chunk.end_span,
      .q = run.f32_row(query, token) + first_head * shape.block.key_dim,
      .q_stride = run.columns(query),
      .out = run.f32_row(phase.op.outputs[0], token) + out_column,
      .out_stride = run.columns(phase.op.outputs[0]),
      .scale = params.scale,
      .soft_cap = params.soft_cap,
      .sinks = sinks == nullptr ? nullptr : sinks + first_head,
      .bias = bias_of(run, phase, first_head),
      .partials = nullptr,
      .scratch = run.scratch(thread).attention,
  };
  float* partials = nullptr;
  if (tile.num_chunks > 1) {
    partials = run.attention_partials() + tile.partials + kv_head * plan.partial_floats(tile);
    args.partials =
        partials + (chunk.first_span - tile.first_span) *
                       attention_partial_floats(args.columns(), shape.block.value_stride());
  }
  run.k.attention[static_cast<uint32_t>(shape.block.type)](args);
  // The thread that finishes a tile's last chunk merges all chunks, in order (Flash-Decoding).
  if (!plan.finish_chunk(tile, kv_head)) return;
  if (tile.num_chunks > 1) {
    args.partials = partials;
    args.first_span = tile.first_span;
    args.end_span = tile.end_span;
    run.k.attention_merge(args);
  }
  if (!phase.quantise_result) return;
  run.k.quantise(args.out, args.out_stride, run.activation(phase.op.outputs[0]).quantised, token,
                 tile.num_tokens, out_column,
                 static_cast<uint64_t>(shape.heads) * shape.block.value_dim);
}

/// Makes the areas of selected positions contiguous, like a cache without other positions. Uses
/// areas of the cache if whole blocks are selected, else copies.
///   blocks  of the sequence; `offset` of the area in each
///   areas   [ceil(positions / block_tokens)]
///   copies  [ceil(positions / block_tokens)] areas
template <typename Positions>
void gather_areas(const CacheBlock& block, const Positions& positions, bool whole_blocks,
                  const uint8_t* const* blocks, uint64_t offset, uint8_t* copies,
                  const uint8_t** areas) noexcept {
  const AreaCopy copy{block, block};
  const uint32_t tokens = block.block_tokens;
  for (uint32_t j = 0; j < positions.size(); j += whole_blocks ? tokens : 1) {
    const uint8_t* from = blocks[positions[j] / tokens] + offset;
    uint8_t* to = copies + j / tokens * block.area_bytes();
    if (j % tokens == 0) areas[j / tokens] = whole_blocks ? from : to;
    if (!whole_blocks) copy(from, positions[j] % tokens, to, j % tokens);
  }
}

void run_selected(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const tenon_op& op = phase.op;
  const tenon_attention_params& params = op.params.attention;
  const tenon_cache_group& group = run.group(params.group);
  const Executable::ThreadScratch& scratch = run.scratch(thread);
  const CacheBlock block(group);
  const uint32_t chunks = selected_head_chunks(params, group);
  const uint32_t token = item / chunks;
  const uint32_t first_head = item % chunks * selected_heads(params, group);
  const uint32_t heads = std::min(selected_heads(params, group), params.heads - first_head);
  const uint32_t kv_head = first_head / (params.heads / group.kv_heads);

  const uint32_t parts = backends::selection_parts(params);
  const uint32_t together = backends::selected_block(params);
  const uint64_t numbers = run.columns(op.inputs[3]) / parts;
  const backends::SelectedPositions<int32_t> positions(
      run.i32_row(op.inputs[3], token) + kv_head % parts * numbers, numbers, params,
      run.token_position(token));
  const uint64_t area = uint64_t{params.layer} * group.kv_heads + kv_head;
  gather_areas(block, positions, together % block.block_tokens == 0,
               run.cache_blocks(params.group, token), area * block.area_bytes(), scratch.selected,
               scratch.areas);

  const uint32_t count = positions.size();
  const uint64_t out_column = uint64_t{first_head} * group.value_dim;
  const float* sinks = run.vector(op.inputs[1]);
  const AttentionArgs args{
      .blocks = scratch.areas,
      .area_offset = 0,
      .shape = block,
      .num_tokens = 1,
      .position = count - 1,
      .window = 0,
      .mask = TENON_MASK_CAUSAL,
      .positions = count,
      .heads = heads,
      .first_span = 0,
      .end_span = (count - 1) / kAttentionSpan + 1,
      .q = run.f32_row(op.inputs[0], token) + uint64_t{first_head} * group.key_dim,
      .q_stride = run.columns(op.inputs[0]),
      .out = run.f32_row(op.outputs[0], token) + out_column,
      .out_stride = run.columns(op.outputs[0]),
      .scale = params.scale,
      .soft_cap = params.soft_cap,
      .sinks = sinks == nullptr ? nullptr : sinks + first_head,
      .bias = {},
      .partials = nullptr,
      .scratch = scratch.attention,
  };
  run.k.attention[static_cast<uint32_t>(args.shape.type)](args);
  if (!phase.quantise_result) return;
  run.k.quantise(args.out, args.out_stride, run.activation(op.outputs[0]).quantised, token, 1,
                 out_column, uint64_t{heads} * group.value_dim);
}

uint32_t attention_items(const OpRun& run, const Phase& phase) noexcept {
  if (!selects(phase.op)) return run.attention_plan(phase.attention_plan).num_items();
  const tenon_attention_params& params = phase.op.params.attention;
  return static_cast<uint32_t>(run.num_rows(phase.row_class)) *
         selected_head_chunks(params, run.group(params.group));
}

void run_attention(OpRun& run, const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  if (selects(phase.op)) return run_selected(run, phase, item, thread);
  run_seen(run, phase, item, thread);
}

void attention_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) {
  if (!selects(phase.op)) {
    const AttentionShape& shape = context.attention_plans[phase.attention_plan].shape();
    count_attention(uint64_t{shape.max_tile_tokens()} * shape.heads, shape.block, sizes);
    return;
  }
  const tenon_attention_params& params = phase.op.params.attention;
  const tenon_cache_group& group = context.groups[params.group];
  const CacheBlock block(group);
  const uint64_t numbers =
      context.plan.slots[phase.op.inputs[3]].slot.columns / backends::selection_parts(params);
  count_areas(block, backends::most_selected(params, numbers), sizes);
  count_attention(selected_heads(params, group), block, sizes);
}

}  // namespace

constexpr CpuOperation ops::attention{.kind = TENON_OP_ATTENTION,
                                      .placement = Placement::Own,
                                      .fits = attention_fits,
                                      .phase = {.items = attention_items,
                                                .run = run_attention,
                                                .uneven = true,
                                                .prepare = prepare_attention,
                                                .quantises = attention_quantises},
                                      .scratch = attention_scratch};

}  // namespace tenon::cpu
