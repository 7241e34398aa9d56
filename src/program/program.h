// A program: the model's forward pass as plain data, an operation list over slots, verified and
// with a memory plan. Built once per model; what changes per step is in tenon_step. Nothing here
// computes.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/ngram_hash.h"
#include "quant/formats.h"
#include "tenon/backend.h"

namespace tenon {

/// Number of a slot in its program.
enum class Slot : uint32_t {};
inline constexpr Slot kNoSlot{TENON_NO_SLOT};

/// Sizes a step may have.
struct StepLimits {
  uint32_t max_tokens = 512;
  uint32_t max_outputs = 512;
};

/// A verified program. Immutable; owns everything its view points to.
class Program {
 public:
  /// The program as a backend receives it. Valid as long as this object.
  [[nodiscard]] const tenon_program& view() const { return view_; }
  [[nodiscard]] std::span<const tenon_slot> slots() const { return slots_; }
  [[nodiscard]] std::span<const tenon_op> ops() const { return ops_; }
  [[nodiscard]] std::span<const tenon_cache_group> groups() const { return groups_; }
  [[nodiscard]] std::span<const uint32_t> results() const { return results_; }

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

 private:
  friend class ProgramBuilder;
  friend class ProgramCutter;
  Program() = default;
  /// Fills the view from the vectors, verifies the whole and plans the memory.
  void complete(Slot logits, const StepLimits& limits, uint32_t position_parts,
                uint32_t token_history);
  std::vector<std::unique_ptr<const std::string>> names_;  // by slot; never move in memory
  std::vector<std::vector<double>> constants_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<tenon_slot> slots_;
  std::vector<tenon_op> ops_;
  std::vector<tenon_cache_group> groups_;
  std::vector<uint32_t> results_;
  tenon_program view_{};
};

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

/// A tenon_cache_group, of every position unless it says otherwise.
struct CacheGroup {
  uint32_t layers = 0;
  uint32_t kv_heads = 0;
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t type = TENON_TYPE_F16;
  uint32_t block_tokens = 32;
  uint32_t window = 0;               ///< positions that are kept; 0: all. Not of CROSS
  uint32_t kind = TENON_CACHE_FULL;  ///< with a window, FULL becomes WINDOW
  uint32_t stride = 0;               ///< LATENT: positions that a row stands for; 0: one
};

/// Where a recurrent operation keeps its values: from `offset` on in a layer of a state group.
struct StatePlace {
  uint32_t group = 0;
  uint32_t layer = 0;
  uint32_t offset = 0;  ///< f32 values
};

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

/// Builds a program one operation at a time; every call checks the shapes it is given and throws
/// Error(Internal) naming the operation, since an architecture, not a file, calls it. Shapes are
/// those of the operation list in tenon/backend.h.
class ProgramBuilder {
 public:
  /// A weight tensor [rows, columns]; the same name gives the same slot (tied embeddings).
  Slot weight(std::string_view name, Format format, uint64_t rows, uint64_t columns);
  /// A constant row [1, n] of f64.
  Slot constant(std::string_view name, std::span<const double> values);
  /// A constant [rows, columns] of i64.
  Slot integers(std::string_view name, std::span<const int64_t> values, uint64_t columns);
  /// An activation [T, R or S, columns] that each step brings.
  ///   row_class  TENON_ROWS_*
  Slot input(std::string_view name, uint32_t row_class, uint64_t columns);
  /// A cache group; returns its number.
  uint32_t cache_group(const CacheGroup& group);
  /// A cache group of kind STATE: `values` f32 values in each layer. Returns its number.
  uint32_t state_group(uint32_t layers, uint32_t values);

  /// Positions have this many parts: 1 (also unless called) or 3. Before the first operation.
  void position_parts(uint32_t parts);

  /// source  TENON_EMBED_*
  Slot embed(Slot table, uint32_t source = TENON_EMBED_TOKENS);
  /// Steps of the program tell at least so many tokens before those of each sequence.
  void look_back(uint32_t tokens);
  /// table [rows, d] -> [T, heads * d]
  Slot ngram_rows(Slot table, const NgramLookup& ngrams);
  /// weight may be kNoSlot; segment 0: the whole row.
  Slot rms_norm(Slot x, Slot weight, float epsilon, uint32_t segment = 0);
  Slot layer_norm(Slot x, Slot weight, Slot bias, float epsilon, uint32_t segment = 0);
  Slot l2_norm(Slot x, float epsilon, uint32_t segment = 0);
  Slot linear(Slot x, Slot weight, Slot bias = kNoSlot);
  /// weight [heads * n, .]: each head of x with its own matrix.
  Slot linear_heads(Slot x, Slot weight, uint32_t heads);
  /// parts   a constant: which part of a position each frequency takes; kNoSlot: part 0
  /// offset  is added to the positions
  Slot rope_angles(Slot frequencies, float magnitude, Slot parts = kNoSlot, int32_t offset = 0);
  Slot rope(Slot x, Slot angles, uint32_t style, uint32_t head_dim, uint32_t offset = 0);
  /// v kNoSlot: into a LATENT group.
  void kv_write(Slot k, Slot v, uint32_t group, uint32_t layer);
  Slot attention(Slot q, const AttentionOptions& options);
  Slot attention_pools(Slot q, const PoolAttentionOptions& options);
  /// q [T, heads * key_dim], weights [T, heads] -> positions [T, count] of i32, for attention.
  Slot select(Slot q, Slot weights, const SelectOptions& options);
  Slot select_blocks(Slot q, const SelectBlocksOptions& options);
  /// -> blocks [T, count] of i32, for select_within.
  Slot select_candidates(Slot q, Slot weights, const SelectWithinOptions& options);
  /// As select, of the rows of `candidates`.
  Slot select_within(Slot q, Slot weights, Slot candidates, const SelectWithinOptions& options);
  /// bias: a weight [stride, columns of the group's keys] -> [T, as many columns, with overlap half]
  Slot compress(Slot bias, const CompressOptions& options);
  Slot glu(uint32_t activation, Slot gate, Slot up);
  Slot glu(const GluOptions& options, Slot gate, Slot up);
  /// Any TENON_ACTIVATION_* but XIELU and SIGNED_ROOT.
  Slot activate(uint32_t activation, Slot x);
  Slot xielu(const XieluOptions& options, Slot x);
  Slot signed_root(Slot x, float epsilon);
  /// y may be a weight [1, n].
  Slot add(Slot x, Slot y);
  /// y [., s] or a weight [1, s], s divides the columns of x.
  Slot mul(Slot x, Slot y);
  /// factor x + offset
  Slot scale(Slot x, float factor, float offset = 0.0f);
  /// x [., streams * n] -> [., results * n]
  Slot mix_streams(Slot x, const MixOptions& options);
  /// format  TENON_ROUND_*
  Slot round(Slot x, uint32_t format, uint32_t segment);
  /// x [., size * size]
  Slot sinkhorn(Slot x, const SinkhornOptions& options);
  /// By the position of each token; see tenon_position_scale_params.
  Slot position_scale(Slot x, float scale, uint32_t length, uint32_t offset = 0);
  /// Sums of `size` neighbouring columns.
  Slot sum_segments(Slot x, uint32_t size);
  /// Over `size` neighbouring columns.
  Slot softmax(Slot x, uint32_t size);
  /// Of each segment of `segment` columns those from `first` on.
  Slot slice(Slot x, uint32_t segment, uint32_t first, uint32_t columns);
  /// x and y as `segments` pieces each, side by side in turn.
  Slot concat(Slot x, Slot y, uint32_t segments = 1);
  /// The whole of y after each of the pieces of x.
  Slot concat_to_each(Slot x, Slot y, uint32_t segments);
  Slot gather_rows(Slot x);
  /// kind  TENON_POOL_*; gives a row for each sequence.
  Slot pool(Slot x, uint32_t kind);
  Slot soft_cap(Slot x, float cap);
  Route moe_route(Slot logits, const RouteOptions& options);
  /// weight [experts * n, .]
  Slot moe_linear(Slot x, const Route& route, Slot weight, const MoeLinearOptions& options);
  /// What each chosen expert makes of x, side by side.
  Slot moe_linear(Slot x, const Route& route, Slot weight, uint32_t experts);
  /// The same, weighted and added up.
  Slot moe_linear_sum(Slot x, const Route& route, Slot weight, uint32_t experts);
  /// gate [., s], s divides the columns of x.
  Slot sigmoid_gate(Slot x, Slot gate);
  Slot token_shift(Slot x, const StatePlace& state);
  Slot conv(Slot x, Slot weight, Slot bias, const StatePlace& state);
  Slot ssm_scan(const SsmScanInputs& inputs, const SsmScanOptions& options);
  Slot delta_rule(const DeltaRuleInputs& inputs, const DeltaRuleOptions& options);
  Slot wkv7(const Wkv7Inputs& inputs, uint32_t heads, const StatePlace& state);
  Slot wkv6(const Wkv6Inputs& inputs, uint32_t heads, const StatePlace& state);

  /// The activation leaves the step, besides being read by operations.
  void result(Slot slot);
  /// Verifies the whole, plans the memory, and gives the program with `logits` [R, vocab] among its
  /// results; kNoSlot: there are none.
  [[nodiscard]] Program finish(Slot logits, const StepLimits& limits) &&;

 private:
  Slot add_slot(tenon_slot slot, std::string_view name);
  using Outputs = std::array<Slot, TENON_MAX_OUTPUTS>;
  /// Checks the operation and appends it with outputs of the shapes that the table of operations
  /// gives. Trailing inputs that are absent are not counted.
  Outputs add_op(tenon_op op, std::initializer_list<Slot> inputs);
  /// The same for an operation of one output.
  Slot add(tenon_op op, std::initializer_list<Slot> inputs) { return add_op(op, inputs)[0]; }
  Slot add_concat(Slot x, Slot y, const tenon_concat_params& params);
  Slot add_norm(uint32_t kind, std::initializer_list<Slot> inputs, float epsilon, uint32_t segment);

  Program program_;
  std::map<const void*, Slot> token_maps_;  // by NgramLookup::map
  uint32_t position_parts_ = 1;
  uint32_t token_history_ = 0;
};

/// Checks a program as a backend or a test may receive it (slot numbers, kinds, shapes, each
/// activation written once before it is read, cache layers written before attention reads them,
/// parts of a state that do not overlap, results, limits). Throws Error(Internal) naming the
/// operation by number and kind.
void verify_program(const tenon_program& program);

/// Fills plan_offset of the activations so that slots alive at the same time do not overlap, and
/// returns the bytes of the area. Offsets are multiples of 64.
///   results  [results] slots that live elsewhere
uint64_t plan_memory(std::span<tenon_slot> slots, std::span<const tenon_op> ops,
                     std::span<const uint32_t> results, const StepLimits& limits);

/// Checks a step against a verified program as far as numbers can tell: counts within the limits,
/// token ids within the embedding tables, sequences that cover the tokens without overlap, block
/// numbers within the pools, no block twice where it would be written, no state read that another
/// sequence writes. Throws Error(Internal). For
/// tests and debugging builds; costs O(tokens + blocks).
void verify_step(const tenon_program& program, const tenon_step& step);

}  // namespace tenon
