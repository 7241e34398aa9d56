// The phases of a PhaseRunner that choose positions by an index, and the attention to those chosen.
// A token is computed alone, so no neighbour, slice or thread changes a bit of it.
#include <algorithm>
#include <limits>

#include "backends/common/selected_positions.h"
#include "backends/cpu/kernels/best_candidates.h"
#include "backends/cpu/layouts/area_rows.h"
#include "backends/cpu/layouts/cache_block.h"
#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {
namespace {

/// Puts the areas of selected positions side by side, as a cache that has no others would hold them:
/// where whole blocks of the cache are selected their own, else copies.
///   blocks  of the sequence; `offset` of the area in each
///   areas   [ceil(positions / block_tokens)]
///   copies  the same, areas
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

/// The rows of its group that a select scores for a token, in ascending order.
struct ScoredRows {
  uint32_t count;
  const int32_t* blocks =
      nullptr;         ///< those of these blocks, the last of which may be cut; else all
  uint32_t block = 1;  ///< rows

  [[nodiscard]] uint32_t row(uint32_t i) const noexcept {
    if (blocks == nullptr) return i;
    return static_cast<uint32_t>(blocks[i / block]) * block + i % block;
  }
};

/// Of the rows [0, seen) those in blocks [count], ascending and then -1.
ScoredRows rows_in_blocks(uint32_t seen, const int32_t* blocks, uint64_t count,
                          uint32_t block) noexcept {
  uint64_t rows = 0;
  for (uint64_t j = 0; j < count && blocks[j] >= 0; ++j) {
    const uint64_t first = static_cast<uint64_t>(blocks[j]) * block;
    if (first < seen) rows += std::min<uint64_t>(block, seen - first);
  }
  return {static_cast<uint32_t>(rows), blocks, block};
}

/// Some of them, into blocks that kernels read.
void gather_scored(const tenon_cache_group& group, const ScoredRows& scored, uint32_t first,
                   uint32_t count, const uint8_t* const* blocks, uint64_t offset, uint8_t* copies,
                   const uint8_t** areas) noexcept {
  AreaRows rows(CacheBlock(group).gathered(), copies, areas);
  for (uint32_t i = first; i < first + count; ++i) rows.add(group, blocks, offset, scored.row(i));
}

}  // namespace

/// Of the heads [first_head, first_head + heads) of a token's index query and all its positions; the
/// spans are set later.
AttentionArgs PhaseRunner::index_args(const tenon_op& op, uint32_t token, uint32_t first_head,
                                      uint32_t heads, uint32_t thread) const noexcept {
  const tenon_select_params& params = op.params.select;
  const CacheBlock block(x_.program_.groups()[params.group]);
  const uint32_t own = x_.state_.token_position[token];
  return {
      .blocks = cache_blocks(params.group, token),
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
      .q = f32_row(op.inputs[0], token) + uint64_t{first_head} * block.key_dim,
      .q_stride = columns(op.inputs[0]),
      .out = nullptr,
      .out_stride = 0,
      .scale = 1.0f,
      .soft_cap = 0.0f,
      .sinks = nullptr,
      .bias = {},
      .partials = nullptr,
      .scratch = x_.scratch_[thread].attention,
  };
}

void PhaseRunner::run_select(const Phase& phase, uint32_t token, uint32_t thread) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const tenon_op& op = phase.select;
  const tenon_select_within_params& params = op.params.select_within;  // begin as those of select
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  int32_t* row = i32_row(op.outputs[0], token);
  const tenon_cache_group& group = x_.program_.groups()[params.group];
  const uint32_t seen = backends::num_rows_before(group, x_.state_.token_position[token] + 1);
  ScoredRows rows{seen};
  if (op.kind == TENON_OP_SELECT_WITHIN) {
    rows = rows_in_blocks(seen, i32_row(op.inputs[2], token), columns(op.inputs[2]), params.block);
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
  AttentionArgs args = index_args(op, token, 0, params.heads, thread);
  const auto type = static_cast<uint32_t>(args.shape.type);
  const float* weights = f32_row(op.inputs[1], token);
  const CacheBlock stored = args.shape;
  const bool gathers = backends::row_stride(group) > 1 || rows.blocks != nullptr;
  float highest = -kInfinity;  // of the block so far
  for (uint32_t start = 0; start < rows.count; start += kAttentionSpan) {
    if (cancelled()) return;
    const uint32_t count = std::min(kAttentionSpan, rows.count - start);
    args.first_span = gathers ? 0 : start / kAttentionSpan;
    args.end_span = args.first_span + 1;
    if (gathers) {
      gather_scored(group, rows, start, count, cache_blocks(params.group, token),
                    params.layer * stored.area_bytes(), scratch.selected, scratch.areas);
      args.blocks = scratch.areas;
      args.area_offset = 0;
      args.shape = stored.gathered();
      args.position = count - 1;
      args.positions = count;
    }
    k_.index_scores[type](args, weights, scratch.index_scores);
    for (uint32_t i = start; i < start + count; ++i) {
      const float score = scratch.index_scores[i - start];
      if (op.kind != TENON_OP_SELECT_CANDIDATES) {
        best.add(score, rows.row(i));
        continue;
      }
      if (score > highest) highest = score;  // not where it is NaN
      if ((i + 1) % together != 0 && i + 1 != rows.count) continue;
      best.add(i + 1 == rows.count ? kInfinity : highest, i / together);
      highest = -kInfinity;
    }
  }
  best.write(row);
}

/// A token and a head at a time.
void PhaseRunner::run_select_blocks(const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const tenon_select_blocks_params& params = phase.select.params.select_blocks;
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const uint32_t token = item / params.heads;
  const uint32_t head = item % params.heads;
  const uint32_t own = x_.state_.token_position[token];
  const uint32_t last = own / params.block;
  BestCandidates best(scratch.candidates, params.count);
  AttentionArgs args = index_args(phase.select, token, head, 1, thread);
  const auto type = static_cast<uint32_t>(args.shape.type);
  float highest = -kInfinity;  // of the block so far
  for (uint32_t start = 0; start <= own; start += kAttentionSpan) {
    if (cancelled()) return;
    args.first_span = start / kAttentionSpan;
    args.end_span = args.first_span + 1;
    k_.index_products[type](args, scratch.index_scores);
    const uint32_t end = std::min(start + kAttentionSpan, own + 1);
    for (uint32_t i = start; i < end; ++i) {
      const float product = scratch.index_scores[i - start];
      if (product > highest) highest = product;  // not where it is NaN
      if ((i + 1) % params.block != 0 && i != own) continue;
      const uint32_t number = i / params.block;
      best.add(last - number < params.local ? kInfinity : highest, number);
      highest = -kInfinity;
    }
  }
  best.write(i32_row(phase.select.outputs[0], token) + uint64_t{head} * params.count);
}

void PhaseRunner::run_selected_attention(const Phase& phase, uint32_t item,
                                         uint32_t thread) noexcept {
  const tenon_op& op = phase.attention;
  const tenon_attention_params& params = op.params.attention;
  const tenon_cache_group& group = x_.program_.groups()[params.group];
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const CacheBlock block(group);
  const uint32_t chunks = selected_head_chunks(params, group);
  const uint32_t token = item / chunks;
  const uint32_t first_head = item % chunks * selected_heads(params, group);
  const uint32_t heads = std::min(selected_heads(params, group), params.heads - first_head);
  const uint32_t kv_head = first_head / (params.heads / group.kv_heads);

  const uint32_t parts = backends::selection_parts(params);
  const uint32_t together = backends::selected_block(params);
  const uint64_t numbers = columns(op.inputs[3]) / parts;
  const backends::SelectedPositions<int32_t> positions(
      i32_row(op.inputs[3], token) + kv_head % parts * numbers, numbers, params,
      x_.state_.token_position[token]);
  const uint64_t area = uint64_t{params.layer} * group.kv_heads + kv_head;
  gather_areas(block, positions, together % block.block_tokens == 0,
               cache_blocks(params.group, token), area * block.area_bytes(), scratch.selected,
               scratch.areas);

  const uint32_t count = positions.size();
  const uint64_t out_column = uint64_t{first_head} * group.value_dim;
  const float* sinks = vector(op.inputs[1]);
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
      .q = f32_row(op.inputs[0], token) + uint64_t{first_head} * group.key_dim,
      .q_stride = columns(op.inputs[0]),
      .out = f32_row(op.outputs[0], token) + out_column,
      .out_stride = columns(op.outputs[0]),
      .scale = params.scale,
      .soft_cap = params.soft_cap,
      .sinks = sinks == nullptr ? nullptr : sinks + first_head,
      .bias = {},
      .partials = nullptr,
      .scratch = scratch.attention,
  };
  k_.attention[static_cast<uint32_t>(args.shape.type)](args);
  if (!phase.quantise_attention) return;
  k_.quantise(args.out, args.out_stride, x_.activations_[op.outputs[0]].quantised, token, 1,
              out_column, uint64_t{heads} * group.value_dim);
}

}  // namespace tenon::cpu
