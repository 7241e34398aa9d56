// The attention phase of a PhaseRunner: from work items to calls of the attention kernels.
#include "backends/cpu/phases/attention_plan.h"
#include "backends/cpu/phases/phase_runner.h"

namespace tenon::cpu {

/// The bias from query head `first_head` on.
AttentionBias PhaseRunner::bias_of(const Phase& phase, uint64_t first_head) const noexcept {
  const tenon_attention_params& params = phase.attention.params.attention;
  const uint32_t slot = phase.attention.inputs[2];
  AttentionBias bias;
  if (params.bias == TENON_BIAS_ALIBI) bias.slopes = x_.program_.constant(slot).data() + first_head;
  if (params.bias != TENON_BIAS_RELATIVE) return bias;
  bias.table = vector(slot) + first_head;
  bias.table_stride = params.heads;
  bias.buckets = phase.buckets.data();
  bias.reach = params.max_distance;
  return bias;
}

void PhaseRunner::run_attention(const Phase& phase, uint32_t item, uint32_t thread) noexcept {
  const tenon_attention_params& params = phase.attention.params.attention;
  AttentionPlan& plan = x_.attention_plans_[phase.attention_plan];
  const AttentionShape& shape = plan.shape();
  const AttentionChunk& chunk = plan.chunk(item);
  const AttentionTile& tile = plan.tile(chunk);
  const uint32_t kv_head = plan.kv_head(item);
  const uint32_t query = phase.attention.inputs[0];
  const float* sinks = vector(phase.attention.inputs[1]);
  const uint64_t area = static_cast<uint64_t>(params.layer) * shape.kv_heads + kv_head;
  const uint64_t first_head = static_cast<uint64_t>(kv_head) * shape.heads;
  const uint64_t out_column = first_head * shape.block.value_dim;
  const uint32_t token = tile.first_token;

  AttentionArgs args{
      .blocks = x_.state_.blocks[shape.group].data() +
                x_.state_.first_block[shape.group][x_.state_.token_sequence[token]],
      .area_offset = area * shape.block.area_bytes(),
      .shape = shape.block,
      .num_tokens = tile.num_tokens,
      .position = x_.state_.token_position[token],
      .window = shape.window,
      .mask = shape.mask,
      .positions = tile.positions,
      .heads = shape.heads,
      .first_span = chunk.first_span,
      .end_span = chunk.end_span,
      .q = f32_row(query, token) + first_head * shape.block.key_dim,
      .q_stride = columns(query),
      .out = f32_row(phase.attention.outputs[0], token) + out_column,
      .out_stride = columns(phase.attention.outputs[0]),
      .scale = params.scale,
      .soft_cap = params.soft_cap,
      .sinks = sinks == nullptr ? nullptr : sinks + first_head,
      .bias = bias_of(phase, first_head),
      .partials = nullptr,
      .scratch = x_.scratch_[thread].attention,
  };
  float* partials = nullptr;
  if (tile.num_chunks > 1) {
    partials = reinterpret_cast<float*>(x_.attention_partials_.data()) + tile.partials +
               kv_head * plan.partial_floats(tile);
    args.partials =
        partials + (chunk.first_span - tile.first_span) *
                       attention_partial_floats(args.columns(), shape.block.value_stride());
  }
  k_.attention[static_cast<uint32_t>(shape.block.type)](args);
  // The thread that finishes a tile's last chunk merges all of them, in order (Flash-Decoding).
  if (!plan.finish_chunk(tile, kv_head)) return;
  if (tile.num_chunks > 1) {
    args.partials = partials;
    args.first_span = tile.first_span;
    args.end_span = tile.end_span;
    k_.attention_merge(args);
  }
  if (!phase.quantise_attention) return;
  k_.quantise(args.out, args.out_stride, x_.activations_[phase.attention.outputs[0]].quantised,
              token, tile.num_tokens, out_column,
              static_cast<uint64_t>(shape.heads) * shape.block.value_dim);
}

}  // namespace tenon::cpu
