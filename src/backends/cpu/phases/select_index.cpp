#include "backends/cpu/phases/select_index.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/best_candidates.h"
#include "backends/cpu/layouts/area_rows.h"
#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/attention_scratch.h"
#include "backends/cpu/phases/cache_fits.h"

namespace tenon::cpu {
namespace {

/// Rows of its group that a select scores for a token, ascending.
struct ScoredRows {
  uint32_t count;
  const int32_t* blocks = nullptr;  ///< blocks of the rows, the last possibly cut; null: all rows
  uint32_t block = 1;               ///< rows

  [[nodiscard]] uint32_t row(uint32_t i) const noexcept {
    if (blocks == nullptr) return i;
    return static_cast<uint32_t>(blocks[i / block]) * block + i % block;
  }
};

/// Rows [0, seen) in blocks [count], which ascend and end with -1.
ScoredRows rows_in_blocks(uint32_t seen, const int32_t* blocks, uint64_t count,
                          uint32_t block) noexcept {
  uint64_t rows = 0;
  for (uint64_t j = 0; j < count && blocks[j] >= 0; ++j) {
    const uint64_t first = static_cast<uint64_t>(blocks[j]) * block;
    if (first < seen) rows += std::min<uint64_t>(block, seen - first);
  }
  return {static_cast<uint32_t>(rows), blocks, block};
}

/// Gathers scored rows into blocks that kernels read.
void gather_scored(const tenon_cache_group& group, const ScoredRows& scored, uint32_t first,
                   uint32_t count, const uint8_t* const* blocks, uint64_t offset, uint8_t* copies,
                   const uint8_t** areas) noexcept {
  AreaRows rows(CacheBlock(group).gathered(), copies, areas);
  for (uint32_t i = first; i < first + count; ++i) rows.add(group, blocks, offset, scored.row(i));
}

}  // namespace

/// All parameter structs begin like those of select.
bool select_fits(const OperationTable&, const tenon_program& program, const tenon_op& op) noexcept {
  return latent_supported(program, op.params.select.group);
}

AttentionArgs index_args(const OpRun& run, const tenon_op& op, uint32_t token, uint32_t first_head,
                         uint32_t heads, uint32_t thread) noexcept {
  const tenon_select_params& params = op.params.select;
  const CacheBlock block(run.group(params.group));
  const uint32_t own = run.token_position(token);
  return {
      .blocks = run.cache_blocks(params.group, token),
      .area_offset = params.layer * block.area_bytes(),
      .shape = block,
      .num_tokens = 1,
      .position = own,
      .window = 0,
      .mask = TENON_MASK_CAUSAL,
      .positions = own + 1,
      .heads = heads,
      .first_span = 0,
      .end_span = 0,
      .q = run.f32_row(op.inputs[0], token) + uint64_t{first_head} * block.key_dim,
      .q_stride = run.columns(op.inputs[0]),
      .out = nullptr,
      .out_stride = 0,
      .scale = 1.0f,
      .soft_cap = 0.0f,
      .sinks = nullptr,
      .bias = {},
      .partials = nullptr,
      .scratch = run.scratch(thread).attention,
  };
}

void count_index(const tenon_cache_group& group, uint32_t heads, uint32_t count, bool gathers,
                 ScratchSizes& sizes) {
  const CacheBlock block(group);
  sizes.candidates = std::max(sizes.candidates, 2 * uint64_t{count});
  if (gathers || backends::row_stride(group) > 1) {
    count_areas(block.gathered(), kAttentionSpan, sizes);
  }
  count_attention(heads, block, sizes);
}

uint32_t select_items(const OpRun& run, const Phase& phase) noexcept {
  return static_cast<uint32_t>(run.num_rows(phase.row_class));
}

void select_scratch(const ScratchContext& context, const Phase& phase, ScratchSizes& sizes) {
  const tenon_select_params& params = phase.op.params.select;
  const bool gathers = phase.op.kind == TENON_OP_SELECT_WITHIN;
  count_index(context.groups[params.group], params.heads, params.count, gathers, sizes);
}

void run_select(OpRun& run, const Phase& phase, uint32_t token, uint32_t thread) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const tenon_op& op = phase.op;
  // Begins like those of select.
  const tenon_select_within_params& params = op.params.select_within;
  const Executable::ThreadScratch& scratch = run.scratch(thread);
  int32_t* row = run.i32_row(op.outputs[0], token);
  const tenon_cache_group& group = run.group(params.group);
  const uint32_t seen = backends::num_rows_before(group, run.token_position(token) + 1);
  ScoredRows rows{seen};
  if (op.kind == TENON_OP_SELECT_WITHIN) {
    rows = rows_in_blocks(seen, run.i32_row(op.inputs[2], token), run.columns(op.inputs[2]),
                          params.block);
  }
  const uint32_t together = op.kind == TENON_OP_SELECT_CANDIDATES ? params.block : 1;
  const uint32_t numbers = rows.count / together + (rows.count % together != 0 ? 1 : 0);
  if (numbers <= params.count) {
    for (uint32_t j = 0; j < params.count; ++j) {
      row[j] = j < numbers ? static_cast<int32_t>(together > 1 ? j : rows.row(j)) : -1;
    }
    return;
  }
  BestCandidates best(scratch.candidates, params.count);
  AttentionArgs args = index_args(run, op, token, 0, params.heads, thread);
  const auto type = static_cast<uint32_t>(args.shape.type);
  const float* weights = run.f32_row(op.inputs[1], token);
  const CacheBlock stored = args.shape;
  const bool gathers = backends::row_stride(group) > 1 || rows.blocks != nullptr;
  float highest = -kInfinity;  // in the current block
  for (uint32_t start = 0; start < rows.count; start += kAttentionSpan) {
    if (run.cancelled()) return;
    const uint32_t count = std::min(kAttentionSpan, rows.count - start);
    args.first_span = gathers ? 0 : start / kAttentionSpan;
    args.end_span = args.first_span + 1;
    if (gathers) {
      gather_scored(group, rows, start, count, run.cache_blocks(params.group, token),
                    params.layer * stored.area_bytes(), scratch.selected, scratch.areas);
      args.blocks = scratch.areas;
      args.area_offset = 0;
      args.shape = stored.gathered();
      args.position = count - 1;
      args.positions = count;
    }
    run.k.index_scores[type](args, weights, scratch.index_scores);
    for (uint32_t i = start; i < start + count; ++i) {
      const float score = scratch.index_scores[i - start];
      if (op.kind != TENON_OP_SELECT_CANDIDATES) {
        best.add(score, rows.row(i));
        continue;
      }
      if (score > highest) highest = score;  // false for NaN
      if ((i + 1) % together != 0 && i + 1 != rows.count) continue;
      best.add(i + 1 == rows.count ? kInfinity : highest, i / together);
      highest = -kInfinity;
    }
  }
  best.write(row);
}

}  // namespace tenon::cpu
