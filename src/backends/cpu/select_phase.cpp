// The phases of a PhaseRunner that choose positions by an index, and the attention to those chosen.
// A token is computed alone, so no neighbour, slice or thread changes a bit of it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/attention_plan.h"
#include "backends/cpu/cache_block.h"
#include "backends/cpu/phase_runner.h"

namespace tenon::cpu {

/// Position by position: of up to twice as many candidates as are chosen, the better half stays
/// whenever there is no room, and what is no better than its worst is no candidate from then on.
void PhaseRunner::run_select(const Phase& phase, uint32_t token, uint32_t thread) noexcept {
  const tenon_select_params& params = phase.select.params.select;
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const CacheBlock block(x_.program_.groups()[params.group]);
  const uint32_t query = phase.select.inputs[0];
  const uint32_t own = x_.state_.token_position[token];
  int32_t* row = i32_row(phase.select.outputs[0], token);
  if (own < params.count) {
    for (uint32_t j = 0; j < params.count; ++j) row[j] = j <= own ? static_cast<int32_t>(j) : -1;
    return;
  }

  using Candidate = Executable::Candidate;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.score > b.score || (a.score == b.score && a.position < b.position);
  };
  Candidate* const found = scratch.candidates;
  Candidate* const room = found + 2 * uint64_t{params.count};
  Candidate* const chosen = found + params.count;
  Candidate* end = found;
  bool full = false;
  float worst = 0.0f;
  const auto keep_best = [&] {
    std::nth_element(found, chosen - 1, end, better);
    end = chosen;
    worst = chosen[-1].score;
    full = true;
  };
  AttentionArgs args{
      .blocks = x_.state_.blocks[params.group].data() +
                x_.state_.first_block[params.group][x_.state_.token_sequence[token]],
      .area_offset = params.layer * block.area_bytes(),
      .shape = block,
      .num_tokens = 1,
      .position = own,
      .window = 0,
      .mask = TENON_MASK_CAUSAL,
      .positions = own + 1,
      .heads = params.heads,
      .first_span = 0,
      .end_span = 0,
      .q = f32_row(query, token),
      .q_stride = columns(query),
      .out = nullptr,
      .out_stride = 0,
      .scale = 1.0f,
      .soft_cap = 0.0f,
      .sinks = nullptr,
      .bias = {},
      .partials = nullptr,
      .scratch = scratch.attention,
  };
  const float* weights = f32_row(phase.select.inputs[1], token);
  for (uint32_t start = 0; start <= own; start += kAttentionSpan) {
    if (cancelled()) return;
    args.first_span = start / kAttentionSpan;
    args.end_span = args.first_span + 1;
    k_.index_scores[static_cast<uint32_t>(block.type)](args, weights, scratch.index_scores);
    const uint32_t count = std::min(kAttentionSpan, own + 1 - start);
    for (uint32_t i = 0; i < count; ++i) {
      float score = scratch.index_scores[i];
      if (std::isnan(score)) score = -std::numeric_limits<float>::infinity();
      if (full && score <= worst) continue;  // of equal ones the lower position is there already
      *end++ = {score, start + i};
      if (end == room) keep_best();
    }
  }
  if (end > chosen) keep_best();
  std::sort(found, end,
            [](const Candidate& a, const Candidate& b) { return a.position < b.position; });
  for (uint32_t j = 0; j < params.count; ++j) row[j] = static_cast<int32_t>(found[j].position);
}

/// Copies the rows of the first `count` selected positions side by side, as a cache that has no
/// others would hold them.
void PhaseRunner::gather_selected(const tenon_op& op, uint32_t token, uint32_t count,
                                  uint32_t thread) noexcept {
  const tenon_attention_params& params = op.params.attention;
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const CacheBlock block(x_.program_.groups()[params.group]);
  const uint8_t* const* blocks =
      x_.state_.blocks[params.group].data() +
      x_.state_.first_block[params.group][x_.state_.token_sequence[token]];
  const int32_t* positions = i32_row(op.inputs[3], token);
  for (uint32_t j = 0; j < count; ++j) {
    const auto position = static_cast<uint32_t>(positions[j]);
    const uint8_t* from = blocks[position / block.block_tokens] + params.layer * block.area_bytes();
    uint8_t* to = scratch.selected + j / block.block_tokens * block.area_bytes();
    const uint32_t from_slot = position % block.block_tokens;
    const uint32_t to_slot = j % block.block_tokens;
    if (to_slot == 0) scratch.areas[j / block.block_tokens] = to;
    std::memcpy(to + to_slot * block.value_row_bytes(), from + from_slot * block.value_row_bytes(),
                block.value_row_bytes());
    if (!block.scaled()) continue;
    std::memcpy(to + block.key_scale_offset() + to_slot * sizeof(uint16_t),
                from + block.key_scale_offset() + from_slot * sizeof(uint16_t), sizeof(uint16_t));
  }
}

void PhaseRunner::run_selected_attention(const Phase& phase, uint32_t item,
                                         uint32_t thread) noexcept {
  const tenon_op& op = phase.attention;
  const tenon_attention_params& params = op.params.attention;
  const tenon_cache_group& group = x_.program_.groups()[params.group];
  const Executable::ThreadScratch& scratch = x_.scratch_[thread];
  const uint32_t chunks = selected_head_chunks(params, group);
  const uint32_t token = item / chunks;
  const uint32_t first_head = item % chunks * selected_heads(params, group);
  const uint32_t heads = std::min(selected_heads(params, group), params.heads - first_head);
  const int32_t* positions = i32_row(op.inputs[3], token);
  uint32_t count = 0;
  while (count < columns(op.inputs[3]) && positions[count] >= 0) ++count;
  gather_selected(op, token, count, thread);

  const uint64_t out_column = uint64_t{first_head} * group.value_dim;
  const float* sinks = vector(op.inputs[1]);
  const AttentionArgs args{
      .blocks = scratch.areas,
      .area_offset = 0,
      .shape = CacheBlock(group),
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
