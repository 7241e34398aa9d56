// Builder functions: each adds one operation to a program. Shapes are those of the operation list in
// tenon/backend.h; what is checked and what it costs stands in program/ops/NAME.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/common/ngram_hash.h"
#include "program/program.h"

namespace tenon {

/// What an attention operation needs besides its query.
struct AttentionOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  float scale = 1.0f;
  float soft_cap = 0.0f;  ///< 0: none
  uint32_t window = 0;    ///< 0: full attention
  Slot sinks = kNoSlot;
  uint32_t mask = TENON_MASK_CAUSAL;
  uint32_t bias = TENON_BIAS_NONE;
  Slot bias_values = kNoSlot;   ///< ALIBI: slopes [1, heads]; RELATIVE: table [buckets, heads]
  bool two_sided = false;       ///< RELATIVE: positions after the own one have buckets, too
  uint32_t max_distance = 0;    ///< RELATIVE: from here on all share the last bucket
  Slot selection = kNoSlot;     ///< of a select: the positions that are looked at; else all
  uint32_t selections = 1;      ///< parts of it: 1, or one for each KV head
  bool selected_rest = false;   ///< positions after the last whole block are looked at, too
  uint32_t selected_block = 1;  ///< positions that a number of it stands for
};

/// tenon_select_params.
struct SelectOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< positions that are chosen, at most
};

/// tenon_compress_params.
struct CompressOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t stride = 0;   ///< positions of a row
  bool overlap = false;  ///< those of the row before count, too
};

/// tenon_attention_pools_params.
struct PoolAttentionOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t window = 0;  ///< positions that are looked at one by one; 0: all
  float scale = 1.0f;
  uint32_t pool_group = 0;
  uint32_t pool_layer = 0;
  Slot sinks = kNoSlot;
  Slot selection = kNoSlot;  ///< of a select: the pools that are looked at; else all
};

/// tenon_select_blocks_params.
struct SelectBlocksOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< blocks that a head chooses, at most
  uint32_t block = 0;  ///< positions
  uint32_t local = 0;  ///< of the last blocks, that are chosen whatever they score
};

/// tenon_select_within_params.
struct SelectWithinOptions {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t heads = 0;
  uint32_t count = 0;  ///< blocks that are chosen, at most, or rows of blocks
  uint32_t block = 0;  ///< rows
};

/// What an ngram_rows hashes, and which rows it takes: tenon_ngram_rows_params.
struct NgramLookup {
  std::vector<int64_t> multipliers;        ///< of the last token, of the one before it, ...
  std::vector<backends::NgramHead> heads;  ///< none: there is no lookup
  int32_t end = 0;                         ///< the token that ends a text
  /// What tokens count as, which several lookups may share; none: as themselves.
  std::shared_ptr<const std::vector<int64_t>> map{};

  [[nodiscard]] backends::NgramNumbers numbers() const {
    return {multipliers, end, map ? std::span(*map) : std::span<const int64_t>()};
  }
};

/// Where a recurrent operation keeps its values: from `offset` on in a layer of a state group.
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

/// What a moe_route chose: [., used] numbers of experts (i32) and their weights.
struct Route {
  Slot ids = kNoSlot;
  Slot weights = kNoSlot;
};

/// How a moe_route chooses among experts.
struct RouteOptions {
  uint32_t used = 1;
  uint32_t scoring = TENON_MOE_SOFTMAX_CHOSEN;
  float scale = 1.0f;
  bool normalise = false;
  float min_sum = 0.0f;
  uint32_t groups = 1;  ///< 1: experts are chosen among all
  uint32_t groups_used = 1;
  float closeness = 0.0f;         ///< of SPARSE_MIXER
  Slot selection_bias = kNoSlot;  ///< [1, experts]
  Slot expert_scale = kNoSlot;    ///< [1, experts]
  Slot numbers = kNoSlot;  ///< [., used] f32: the experts, which the logits then do not choose
};

/// What of a moe_linear the weights of the route multiply.
enum class ExpertWeights { None, Outputs, Inputs };

struct MoeLinearOptions {
  uint32_t experts = 1;
  bool sum = false;  ///< of what the chosen experts make; else side by side
  ExpertWeights weights = ExpertWeights::None;
  Slot bias = kNoSlot;  ///< [experts, n]
};

/// tenon_glu_params.
struct GluOptions {
  uint32_t activation = TENON_ACTIVATION_SILU;
  float alpha = 1.0f;
  float limit = 0.0f;  ///< 0: none
  float up_offset = 0.0f;
  bool limit_after = false;
};

/// The numbers of TENON_ACTIVATION_XIELU.
struct XieluOptions {
  float alpha_p = 0.0f;
  float alpha_n = 0.0f;
  float beta = 0.0f;
  float epsilon = 0.0f;
};

/// See tenon_mix_streams_params.
struct MixOptions {
  uint32_t streams = 1;
  uint32_t results = 1;
  Slot matrix = kNoSlot;   ///< [., streams * results], or none
  Slot added = kNoSlot;    ///< [., n], to each result times its factor; or none
  Slot factors = kNoSlot;  ///< [., results], with `added`
};

/// See tenon_sinkhorn_params.
struct SinkhornOptions {
  uint32_t size = 1;
  uint32_t iterations = 1;
  float epsilon = 0.0f;
};

/// Every function throws Error(Internal) that names the operation where shapes do not fit.
namespace op {

/// source  TENON_EMBED_*
Slot embed(ProgramBuilder& builder, Slot table, uint32_t source = TENON_EMBED_TOKENS);
/// table [rows, d] -> [T, heads * d]
Slot ngram_rows(ProgramBuilder& builder, Slot table, const NgramLookup& ngrams);
/// weight may be kNoSlot; segment 0: the whole row.
Slot rms_norm(ProgramBuilder& builder, Slot x, Slot weight, float epsilon, uint32_t segment = 0);
Slot layer_norm(ProgramBuilder& builder, Slot x, Slot weight, Slot bias, float epsilon,
                uint32_t segment = 0);
Slot l2_norm(ProgramBuilder& builder, Slot x, float epsilon, uint32_t segment = 0);
Slot linear(ProgramBuilder& builder, Slot x, Slot weight, Slot bias = kNoSlot);
/// weight [heads * n, .]: each head of x with its own matrix.
Slot linear_heads(ProgramBuilder& builder, Slot x, Slot weight, uint32_t heads);
/// parts   a constant: which part of a position each frequency takes; kNoSlot: part 0
/// offset  is added to the positions
Slot rope_angles(ProgramBuilder& builder, Slot frequencies, float magnitude, Slot parts = kNoSlot,
                 int32_t offset = 0);
Slot rope(ProgramBuilder& builder, Slot x, Slot angles, uint32_t style, uint32_t head_dim,
          uint32_t offset = 0);
/// v kNoSlot: into a LATENT group.
void kv_write(ProgramBuilder& builder, Slot k, Slot v, uint32_t group, uint32_t layer);
Slot attention(ProgramBuilder& builder, Slot q, const AttentionOptions& options);
Slot attention_pools(ProgramBuilder& builder, Slot q, const PoolAttentionOptions& options);
/// q [T, heads * key_dim], weights [T, heads] -> positions [T, count] of i32, for attention.
Slot select(ProgramBuilder& builder, Slot q, Slot weights, const SelectOptions& options);
Slot select_blocks(ProgramBuilder& builder, Slot q, const SelectBlocksOptions& options);
/// -> blocks [T, count] of i32, for select_within.
Slot select_candidates(ProgramBuilder& builder, Slot q, Slot weights,
                       const SelectWithinOptions& options);
/// As select, of the rows of `candidates`.
Slot select_within(ProgramBuilder& builder, Slot q, Slot weights, Slot candidates,
                   const SelectWithinOptions& options);
/// bias: a weight [stride, columns of the group's keys] -> [T, as many columns, with overlap half]
Slot compress(ProgramBuilder& builder, Slot bias, const CompressOptions& options);
Slot glu(ProgramBuilder& builder, uint32_t activation, Slot gate, Slot up);
Slot glu(ProgramBuilder& builder, const GluOptions& options, Slot gate, Slot up);
/// Any TENON_ACTIVATION_* but XIELU and SIGNED_ROOT.
Slot activate(ProgramBuilder& builder, uint32_t activation, Slot x);
Slot xielu(ProgramBuilder& builder, const XieluOptions& options, Slot x);
Slot signed_root(ProgramBuilder& builder, Slot x, float epsilon);
/// y may be a weight [1, n].
Slot add(ProgramBuilder& builder, Slot x, Slot y);
/// y [., s] or a weight [1, s], s divides the columns of x.
Slot mul(ProgramBuilder& builder, Slot x, Slot y);
/// factor x + offset
Slot scale(ProgramBuilder& builder, Slot x, float factor, float offset = 0.0f);
/// x [., streams * n] -> [., results * n]
Slot mix_streams(ProgramBuilder& builder, Slot x, const MixOptions& options);
/// format  TENON_ROUND_*
Slot round(ProgramBuilder& builder, Slot x, uint32_t format, uint32_t segment);
/// x [., size * size]
Slot sinkhorn(ProgramBuilder& builder, Slot x, const SinkhornOptions& options);
/// By the position of each token; see tenon_position_scale_params.
Slot position_scale(ProgramBuilder& builder, Slot x, float scale, uint32_t length,
                    uint32_t offset = 0);
/// Sums of `size` neighbouring columns.
Slot sum_segments(ProgramBuilder& builder, Slot x, uint32_t size);
/// Over `size` neighbouring columns.
Slot softmax(ProgramBuilder& builder, Slot x, uint32_t size);
/// Of each segment of `segment` columns those from `first` on.
Slot slice(ProgramBuilder& builder, Slot x, uint32_t segment, uint32_t first, uint32_t columns);
/// x and y as `segments` pieces each, side by side in turn.
Slot concat(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments = 1);
/// The whole of y after each of the pieces of x.
Slot concat_to_each(ProgramBuilder& builder, Slot x, Slot y, uint32_t segments);
Slot gather_rows(ProgramBuilder& builder, Slot x);
/// kind  TENON_POOL_*; gives a row for each sequence.
Slot pool(ProgramBuilder& builder, Slot x, uint32_t kind);
Slot soft_cap(ProgramBuilder& builder, Slot x, float cap);
Route moe_route(ProgramBuilder& builder, Slot logits, const RouteOptions& options);
/// weight [experts * n, .]
Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                const MoeLinearOptions& options);
/// What each chosen expert makes of x, side by side.
Slot moe_linear(ProgramBuilder& builder, Slot x, const Route& route, Slot weight, uint32_t experts);
/// What the chosen experts make of x, weighted and added up.
Slot moe_linear_sum(ProgramBuilder& builder, Slot x, const Route& route, Slot weight,
                    uint32_t experts);
/// gate [., s], s divides the columns of x.
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
