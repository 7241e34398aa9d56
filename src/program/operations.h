// Builder functions: each appends one operation to a program. tenon/backend.h defines the shapes;
// program/ops/NAME.cpp defines checks and cost.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "abi/ngram_hash.h"
#include "program/program.h"

namespace tenon {

/// Options of an attention operation.
struct AttentionOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  float scale = 1.0f;
  float soft_cap = 0.0f;  ///< 0 means none
  uint32_t window = 0;    ///< 0 means full attention
  Slot sinks = kNoSlot;
  uint32_t mask = TENON_MASK_CAUSAL;
  uint32_t bias = TENON_BIAS_NONE;
  Slot bias_values = kNoSlot;  ///< ALIBI: slopes [1, heads]; RELATIVE: table [buckets, heads]
  bool two_sided = false;      ///< RELATIVE: later positions have buckets, too
  uint32_t max_distance = 0;   ///< RELATIVE: from this distance on, all share the last bucket
  Slot selection = kNoSlot;  ///< result of a select: the positions to attend to; kNoSlot means all
  uint32_t selections = 1;   ///< parts of the selection: 1, or one per KV head
  bool selected_rest = false;   ///< also attends to positions after the last whole block
  uint32_t selected_block = 1;  ///< positions per number of the selection
};

/// tenon_select_params.
struct SelectOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< most positions chosen
};

/// tenon_compress_params.
struct CompressOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t stride = 0;   ///< positions per row
  bool overlap = false;  ///< rows also use the positions of the row before
};

/// tenon_attention_pools_params.
struct PoolAttentionOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t window = 0;  ///< positions attended to one by one; 0 means all
  float scale = 1.0f;
  uint32_t pool_group = 0;
  uint32_t pool_layer = 0;
  Slot sinks = kNoSlot;
  Slot selection = kNoSlot;  ///< result of a select: the pools to attend to; kNoSlot means all
};

/// tenon_select_blocks_params.
struct SelectBlocksOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< most blocks chosen per head
  uint32_t block = 0;  ///< positions
  uint32_t local = 0;  ///< last blocks that are always chosen
};

/// tenon_select_within_params.
struct SelectWithinOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< most blocks, or rows of blocks, chosen
  uint32_t block = 0;  ///< rows
};

/// Hash numbers and heads of an ngram_rows: tenon_ngram_rows_params.
struct NgramLookup {
  std::vector<int64_t> multipliers;        ///< of the last token, the token before, ...
  std::vector<backends::NgramHead> heads;  ///< empty: no lookup
  int32_t end = 0;                         ///< token that ends a text
  /// Replaces token numbers, may be shared by several lookups; null keeps them.
  std::shared_ptr<const std::vector<int64_t>> map{};

  [[nodiscard]] backends::NgramNumbers numbers() const {
    return {multipliers, end, map ? std::span(*map) : std::span<const int64_t>()};
  }
};

/// State of a recurrent operation: from `offset` on in a layer of a state group.
struct StatePlace {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t offset = 0;  ///< f32 values
};
constexpr tenon_state_params state_params(const StatePlace& place) {
  return {place.group, place.layer, place.offset};
}

/// Inputs of an ssm_scan; shapes in tenon/backend.h.
struct SsmScanInputs {
  Slot x = kNoSlot;
  Slot dt = kNoSlot;
  Slot a = kNoSlot;  ///< weight
  Slot b = kNoSlot;
  Slot c = kNoSlot;
  Slot d = kNoSlot;  ///< weight; may be absent
};

struct SsmScanOptions {
  StatePlace state;
  uint32_t heads = 0;
  uint32_t groups = 1;
  uint32_t size = 0;  ///< N
};

/// Inputs of a delta_rule; all activations.
struct DeltaRuleInputs {
  Slot q = kNoSlot;
  Slot k = kNoSlot;
  Slot v = kNoSlot;
  Slot decay = kNoSlot;
  Slot beta = kNoSlot;
};

struct DeltaRuleOptions {
  StatePlace state;
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;
  bool interleaved = false;
  float scale = 1.0f;
};

/// Inputs of a wkv7; all activations.
struct Wkv7Inputs {
  Slot r = kNoSlot;
  Slot w = kNoSlot;
  Slot k = kNoSlot;
  Slot v = kNoSlot;
  Slot a = kNoSlot;
  Slot b = kNoSlot;
};

/// Inputs of a wkv6.
struct Wkv6Inputs {
  Slot r = kNoSlot;
  Slot w = kNoSlot;
  Slot k = kNoSlot;
  Slot v = kNoSlot;
  Slot u = kNoSlot;  ///< weight; may be absent
};

/// Result of a moe_route: numbers of the chosen experts [., used] i32 and their weights [., used]
/// f32.
struct Route {
  Slot ids = kNoSlot;
  Slot weights = kNoSlot;
};

/// Options of expert choice in a moe_route.
struct RouteOptions {
  uint32_t used = 1;
  uint32_t scoring = TENON_MOE_SOFTMAX_CHOSEN;
  float scale = 1.0f;
  bool normalise = false;
  float min_sum = 0.0f;
  uint32_t groups = 1;  ///< 1 means no groups
  uint32_t groups_used = 1;
  float closeness = 0.0f;         ///< of SPARSE_MIXER
  Slot selection_bias = kNoSlot;  ///< [1, experts]
  Slot expert_scale = kNoSlot;    ///< [1, experts]
  /// [., used] f32 expert numbers, which then replace the choice by logits.
  Slot numbers = kNoSlot;
};

/// Operand of a moe_linear that the route's weights multiply.
enum class ExpertWeights { None, Outputs, Inputs };

struct MoeLinearOptions {
  uint32_t experts = 1;
  bool sum = false;  ///< adds up the experts' outputs; else they lie side by side
  ExpertWeights weights = ExpertWeights::None;
  Slot bias = kNoSlot;         ///< [experts, n]
  bool first_is_zero = false;  ///< all of the first expert's matrix is zero
};

/// tenon_glu_params.
struct GluOptions {
  uint32_t activation = TENON_ACTIVATION_SILU;
  float alpha = 1.0f;
  float limit = 0.0f;  ///< 0 means none
  float up_offset = 0.0f;
  bool limit_after = false;
};

/// Parameters of TENON_ACTIVATION_XIELU.
struct XieluOptions {
  float alpha_p = 0.0f;
  float alpha_n = 0.0f;
  float beta = 0.0f;
  float epsilon = 0.0f;
};

/// Options of tenon_mix_streams_params.
struct MixOptions {
  uint32_t streams = 1;
  uint32_t results = 1;
  Slot matrix = kNoSlot;   ///< [., streams * results]; may be absent
  Slot added = kNoSlot;    ///< [., n] added to each result times its factor; may be absent
  Slot factors = kNoSlot;  ///< [., results], with `added`
};

/// Options of tenon_sinkhorn_params.
struct SinkhornOptions {
  uint32_t size = 1;
  uint32_t iterations = 1;
  float epsilon = 0.0f;
};

/// Every function throws Error(Internal) that names the operation if shapes do not fit.
namespace op {

/// source  TENON_EMBED_*
Slot embed(ProgramBuilder& builder, Slot table, uint32_t source = TENON_EMBED_TOKENS);
/// table [rows, d] -> [T, heads * d]
Slot ngram_rows(ProgramBuilder& builder, Slot table, const NgramLookup& ngrams);
/// weight may be kNoSlot; segment 0 means the whole row.
Slot rms_norm(ProgramBuilder& builder, Slot x, Slot weight, float epsilon, uint32_t segment = 0);
Slot layer_norm(ProgramBuilder& builder, Slot x, Slot weight, Slot bias, float epsilon,
                uint32_t segment = 0);
Slot l2_norm(ProgramBuilder& builder, Slot x, float epsilon, uint32_t segment = 0);
Slot linear(ProgramBuilder& builder, Slot x, Slot weight, Slot bias = kNoSlot);
/// weight [heads * n, .]: one matrix per head of x.
Slot linear_heads(ProgramBuilder& builder, Slot x, Slot weight, uint32_t heads);
/// parts   constant: the position part of each frequency; kNoSlot means part 0
/// offset  added to the positions
Slot rope_angles(ProgramBuilder& builder, Slot frequencies, float magnitude, Slot parts = kNoSlot,
                 int32_t offset = 0);
Slot rope(ProgramBuilder& builder, Slot x, Slot angles, uint32_t style, uint32_t head_dim,
          uint32_t offset = 0);
/// v is kNoSlot for a LATENT group.
void kv_write(ProgramBuilder& builder, Slot k, Slot v, uint32_t group, uint32_t layer);
Slot attention(ProgramBuilder& builder, Slot q, const AttentionOptions& options);
Slot attention_pools(ProgramBuilder& builder, Slot q, const PoolAttentionOptions& options);
/// q [T, heads * key_dim], weights [T, heads] -> positions [T, count] i32, for attention.
Slot select(ProgramBuilder& builder, Slot q, Slot weights, const SelectOptions& options);
Slot select_blocks(ProgramBuilder& builder, Slot q, const SelectBlocksOptions& options);
/// -> blocks [T, count] i32, for select_within.
Slot select_candidates(ProgramBuilder& builder, Slot q, Slot weights,
                       const SelectWithinOptions& options);
/// Like select, among the rows of `candidates`.
Slot select_within(ProgramBuilder& builder, Slot q, Slot weights, Slot candidates,
                   const SelectWithinOptions& options);
/// bias: a weight [stride, key columns of the group] -> [T, key columns; half of them with
/// overlap].
Slot compress(ProgramBuilder& builder, Slot bias, const CompressOptions& options);
Slot glu(ProgramBuilder& builder, uint32_t activation, Slot gate, Slot up);
Slot glu(ProgramBuilder& builder, const GluOptions& options, Slot gate, Slot up);
/// Any TENON_ACTIVATION_* except XIELU and SIGNED_ROOT.
Slot activate(ProgramBuilder& builder, uint32_t activation, Slot x);
Slot xielu(ProgramBuilder& builder, const XieluOptions& options, Slot x);
Slot signed_root(ProgramBuilder& builder, Slot x, float epsilon);
/// y may be a weight [1, n].
Slot add(ProgramBuilder& builder, Slot x, Slot y);
/// y is [., s] or a weight [1, s]; s divides the columns of x.
Slot mul(ProgramBuilder& builder, Slot x, Slot y);
/// factor x + offset
Slot scale(ProgramBuilder& builder, Slot x, float factor, float offset = 0.0f);
/// x [., streams * n] -> [., results * n]
Slot mix_streams(ProgramBuilder& builder, Slot x, const MixOptions& options);
/// format  TENON_ROUND_*
Slot round(ProgramBuilder& builder, Slot x, uint32_t format, uint32_t segment);
/// x [., size * size]
Slot sinkhorn(ProgramBuilder& builder, Slot x, const SinkhornOptions& options);
/// Scales by each token's position; see tenon_position_scale_params.
Slot position_scale(ProgramBuilder& builder, Slot x, float scale, uint32_t length,
                    uint32_t offset = 0);
/// Sums of `size` neighbouring columns.
Slot sum_segments(ProgramBuilder& builder, Slot x, uint32_t size);
/// Softmax over each `size` neighbouring columns.
Slot softmax(ProgramBuilder& builder, Slot x, uint32_t size);
/// Columns from `first` on of each segment of `segment` columns.
Slot slice(ProgramBuilder& builder, Slot x, uint32_t segment, uint32_t first, uint32_t columns);
/// Joins x and y segment by segment, `segments` segments each.
Slot concat(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments = 1);
/// Appends all of y to each segment of x.
Slot concat_to_each(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments);
Slot gather_rows(ProgramBuilder& builder, Slot x);
/// kind TENON_POOL_*; one row per sequence.
Slot pool(ProgramBuilder& builder, Slot x, uint32_t kind);
Slot soft_cap(ProgramBuilder& builder, Slot x, float cap);
Route moe_route(ProgramBuilder& builder, Slot logits, const RouteOptions& options);
/// weight [experts * n, .]
Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                const MoeLinearOptions& options);
/// Outputs of all chosen experts for x, side by side.
Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight, uint32_t experts);
/// Weighted sum of the chosen experts' outputs for x.
Slot moe_linear_sum(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                    uint32_t experts);
/// gate is [., s]; s divides the columns of x.
Slot sigmoid_gate(ProgramBuilder& builder, Slot x, Slot gate);
Slot token_shift(ProgramBuilder& builder, Slot x, const StatePlace& state);
Slot conv(ProgramBuilder& builder, Slot x, Slot weight, Slot bias, const StatePlace& state);
Slot ssm_scan(ProgramBuilder& builder, const SsmScanInputs& inputs, const SsmScanOptions& options);
Slot delta_rule(ProgramBuilder& builder, const DeltaRuleInputs& inputs,
                const DeltaRuleOptions& options);
Slot wkv7(ProgramBuilder& builder, const Wkv7Inputs& inputs, uint32_t heads,
          const StatePlace& state);
Slot wkv6(ProgramBuilder& builder, const Wkv6Inputs& inputs, uint32_t heads,
          const StatePlace& state);

}  // namespace op
}  // namespace tenon
