// Stages on positions: rotary embeddings, cache writes and cache reads.
#include <algorithm>
#include <cmath>
#include <vector>

#include "abi/relative_bucket.h"
#include "abi/selected_positions.h"
#include "backends/gpu/stage_operations.h"
#include "backends/gpu/unit_products.h"

namespace tenon::gpu {
namespace {

/// Rotation by `frequency` radians per position in turns, mod 1, as a binary fraction.
uint64_t turns_of(double frequency) {
  constexpr double kTurn = 6.283185307179586476925;
  const double turns = frequency / kTurn;
  return static_cast<uint64_t>(std::ldexp(turns - std::floor(turns), 63)) * 2;
}

/// First distance of each bucket on a side of a relative bias.
std::vector<uint32_t> first_distances(const tenon_attention_params& params, uint32_t buckets) {
  const uint32_t side = params.two_sided != 0 ? buckets / 2 : buckets;
  std::vector<uint32_t> distances(side);
  for (uint32_t b = 0; b < side; ++b) {
    uint32_t low = 0;
    uint32_t high = params.max_distance;  // in the last bucket
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      const bool reaches = backends::relative_bucket(-int64_t{middle}, buckets, params) >= b;
      if (reaches)
        high = middle;
      else
        low = middle + 1;
    }
    distances[b] = low;
  }
  return distances;
}

/// Rotates the segments of query rows in scratch memory if the cache is rotated; returns their
/// address.
Address rotated_query(StageBuilder& b, uint32_t query, const tenon_cache_group& group) {
  if (group.type != TENON_CACHE_Q4) return b.address(query);
  RotateStage stage{};
  stage.x = b.address(query);
  stage.y = b.addresses.scratch;
  stage.columns = b.columns(query);
  stage.segment = group.key_dim;
  b.add(Kernel::rotate, {shared_row(group)}, stage,
        {StageBuilder::by_groups(stage.columns / stage.segment)});
  return stage.y;
}

/// Adds a stage for steps of few tokens, whose positions several groups share, and a stage for
/// other steps; a single stage if the device does not share.
void add_attention_stages(StageBuilder& b, const tenon_cache_group& group, AttentionStage stage) {
  StageBuilder::Grid grid{.groups = stage.heads};
  const bool has_parts =
      stage.window == 0 || stage.window > kSplitPositions || stage.has_pools != 0;
  if (b.limits.families.has(Family::SharedAttention) && has_parts) {
    AttentionStage shared = stage;
    shared.splits = kAttentionSplits;
    shared.partials = b.addresses.work + b.work.partials;
    shared.arrived = b.addresses.work + b.work.rows_arrived;
    b.add(Kernel::attention, {group.type, shared_row(group)}, shared,
          {.groups = stage.heads * kAttentionSplits, .most_rows = kNarrowTokens});
    grid.least_rows = kNarrowTokens + 1;
  }
  b.add(Kernel::attention, {group.type, shared_row(group)}, stage, grid);
}

/// Common parameters of attending operations: `Params` has group, layer, heads, window and scale.
///   selection  slot of a selection, or TENON_NO_SLOT
template <typename Params>
AttentionStage attention(const StageBuilder& b, const tenon_op& op, const Params& params,
                         uint32_t selection) {
  AttentionStage stage{};
  stage.step = b.addresses.step;
  stage.query = b.address(op.inputs[0]);
  stage.sinks = b.address(op.inputs[1]);
  stage.selection = b.address(selection);
  stage.selection_columns = selection == TENON_NO_SLOT ? 0 : b.columns(selection);
  stage.y = b.address(op.outputs[0]);
  stage.cache = b.cache(params.group, params.layer);
  stage.heads = params.heads;
  stage.window = params.window;
  stage.scale = params.scale;
  return stage;
}

/// Common parameters of selecting operations: `Params` has group, layer, heads and count.
template <typename Params>
SelectStage selection(StageBuilder& b, const tenon_op& op, const Params& params) {
  SelectStage stage{};
  stage.step = b.addresses.step;
  stage.query = rotated_query(b, op.inputs[0], b.group(params.group));
  stage.y = b.address(op.outputs[0]);
  stage.cache = b.cache(params.group, params.layer);
  stage.heads = params.heads;
  stage.count = params.count;
  return stage;
}

}  // namespace

void add_rope_angles(StageBuilder& b, const tenon_op& op) {
  const std::span<const double> frequencies = b.program.constant(op.inputs[0]);
  std::vector<uint64_t> turns;
  std::vector<uint32_t> parts;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    turns.push_back(turns_of(frequencies[i]));
    const bool by_parts = op.inputs[1] != TENON_NO_SLOT;
    parts.push_back(by_parts ? static_cast<uint32_t>(b.program.constant(op.inputs[1])[i]) : 0);
  }
  RopeAnglesStage stage{};
  stage.step = b.addresses.step;
  stage.turns = b.constant(turns.data(), turns.size() * sizeof(uint64_t));
  stage.parts = b.constant(parts.data(), parts.size() * sizeof(uint32_t));
  stage.y = b.address(op.outputs[0]);
  stage.pairs = static_cast<uint32_t>(frequencies.size());
  stage.position_parts = b.program.view().position_parts;
  stage.offset = op.params.rope_angles.offset;
  stage.magnitude = op.params.rope_angles.magnitude;
  b.add(Kernel::rope_angles, {}, stage, {b.by_threads(stage.pairs)});
}

void add_rope(StageBuilder& b, const tenon_op& op) {
  RopeStage stage{};
  stage.x = b.address(op.inputs[0]);
  stage.angles = b.address(op.inputs[1]);
  stage.y = b.address(op.outputs[0]);
  stage.columns = b.columns(op.inputs[0]);
  stage.head_dim = op.params.rope.head_dim;
  stage.pairs = b.columns(op.inputs[1]) / 2;
  stage.offset = op.params.rope.offset;
  stage.halves = op.params.rope.style == TENON_ROPE_HALVES ? 1 : 0;
  b.add(Kernel::rope, {}, stage, {b.by_threads(stage.columns)});
}

void add_kv_write(StageBuilder& b, const tenon_op& op) {
  const tenon_cache_group& group = b.group(op.params.kv.group);
  KvWriteStage stage{};
  stage.step = b.addresses.step;
  stage.keys = b.address(op.inputs[0]);
  stage.values = b.address(op.inputs[1]);
  stage.cache = b.cache(op.params.kv.group, op.params.kv.layer);
  const uint32_t kinds = group.kind == TENON_CACHE_LATENT ? 1 : 2;
  b.add(Kernel::kv_write, {group.type, shared_row(group)}, stage, {group.kv_heads * kinds});
}

void add_attention(StageBuilder& b, const tenon_op& op) {
  const tenon_attention_params& params = op.params.attention;
  AttentionStage stage = attention(b, op, params, op.inputs[3]);
  stage.mask = params.mask;
  stage.bias_kind = params.bias;
  stage.two_sided = params.two_sided;
  stage.selection_parts = backends::selection_parts(params);
  stage.selected_block = backends::selected_block(params);
  stage.selected_rest = params.selected_rest;
  stage.soft_cap = params.soft_cap;
  if (params.bias == TENON_BIAS_ALIBI) {
    const std::span<const double> slopes = b.program.constant(op.inputs[2]);
    const std::vector<float> rounded(slopes.begin(), slopes.end());
    stage.bias = b.constant(rounded.data(), rounded.size() * sizeof(float));
  } else if (params.bias == TENON_BIAS_RELATIVE) {
    const auto buckets = static_cast<uint32_t>(b.slot(op.inputs[2]).rows);
    const std::vector<uint32_t> distances = first_distances(params, buckets);
    stage.bias = b.address(op.inputs[2]);
    stage.distances = b.constant(distances.data(), distances.size() * sizeof(uint32_t));
    stage.side_buckets = static_cast<uint32_t>(distances.size());
  }
  add_attention_stages(b, b.group(params.group), stage);
}

/// Uses the attention kernel on the rows of the window, followed by pools.
void add_attention_pools(StageBuilder& b, const tenon_op& op) {
  const tenon_attention_pools_params& params = op.params.attention_pools;
  AttentionStage stage = attention(b, op, params, op.inputs[2]);
  stage.pools = b.cache(params.pool_group, params.pool_layer);
  stage.has_pools = 1;
  stage.mask = TENON_MASK_CAUSAL;
  stage.selection_parts = 1;
  stage.selected_block = 1;
  add_attention_stages(b, b.group(params.group), stage);
}

void add_select(StageBuilder& b, const tenon_op& op) {
  SelectStage stage = selection(b, op, op.params.select);
  stage.weights = b.address(op.inputs[1]);
  b.add(Kernel::select, {b.group(op.params.select.group).type, op.kind}, stage, {});
}

/// Adds select_candidates and select_within.
void add_select_within(StageBuilder& b, const tenon_op& op) {
  const tenon_select_within_params& params = op.params.select_within;
  SelectStage stage = selection(b, op, params);
  stage.weights = b.address(op.inputs[1]);
  stage.block = params.block;
  if (op.kind == TENON_OP_SELECT_WITHIN) {
    stage.candidates = b.address(op.inputs[2]);
    stage.candidate_columns = b.columns(op.inputs[2]);
  }
  b.add(Kernel::select, {b.group(params.group).type, op.kind}, stage, {});
}

void add_select_blocks(StageBuilder& b, const tenon_op& op) {
  const tenon_select_blocks_params& params = op.params.select_blocks;
  SelectStage stage = selection(b, op, params);
  stage.block = params.block;
  stage.local = params.local;
  b.add(Kernel::select, {b.group(params.group).type, op.kind}, stage, {params.heads});
}

void add_compress(StageBuilder& b, const tenon_op& op) {
  const tenon_compress_params& params = op.params.compress;
  const tenon_cache_group& group = b.group(params.group);
  CompressStage stage{};
  stage.step = b.addresses.step;
  stage.bias = b.address(op.inputs[0]);
  stage.y = b.address(op.outputs[0]);
  stage.cache = b.cache(params.group, params.layer);
  stage.stride = params.stride;
  stage.overlap = params.overlap;
  b.add(Kernel::compress, {group.type, shared_row(group)}, stage, {});
}

}  // namespace tenon::gpu
