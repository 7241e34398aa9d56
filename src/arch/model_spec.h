// What a model is, as numbers and names: a description of every layer and of what stands before and
// after them. Written by an architecture from a file's metadata, read by the blocks that build the
// program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/blocks/rope.h"
#include "program/operations.h"
#include "tenon/backend.h"

namespace tenon {

/// Whether a kind of tensor belongs to a model.
enum class Presence { Absent, Optional, Required };

enum class NormKind {
  Rms,              ///< root mean square (Zhang and Sennrich 2019)
  RmsUnweighted,    ///< the same without a weight: no tensor has the name
  Layer,            ///< with a weight and a bias (Ba et al. 2016)
  LayerUnbiased,    ///< with a weight alone
  LayerUnweighted,  ///< with neither: no tensor has the name
};

/// A normalisation, by the name of its tensors in the layer: "attn_norm". No name: there is none.
struct NormSpec {
  std::string_view name{};
  NormKind kind = NormKind::Rms;
  float epsilon = 0.0f;
  std::string_view suffix = ".weight";  ///< of the weight's name
};

/// RMS norms of queries and keys ("attn_q_norm", "attn_k_norm").
enum class QkNorm {
  None,
  EachHead,       ///< a weight [key_dim] that all heads share
  MayBeEachHead,  ///< the same in files that have the weight
  RmsOfHead,      ///< a weight [key_dim] for each head
  LayerOfHead,    ///< layer norms, a weight [key_dim] and maybe a bias for each head
  Unweighted,     ///< of each head, without a weight
  WholeRow,       ///< over all heads together, before they are split
  GainOfQuery,    ///< of each head, without a weight; "attn_q_norm" is a factor for each query head
};

/// Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434): keys and values of all heads
/// are linear in one latent row, which the cache keeps beside the rotated part of the key.
struct LatentSpec {
  uint32_t rank = 0;        ///< of the latent row; 0: attention is not latent
  uint32_t query_rank = 0;  ///< queries come from a row of their own ("attn_q_a"); 0: "attn_q"
  uint32_t rope_dim = 0;    ///< the last values of each query head, and of the key that heads share
  bool fused = false;  ///< "attn_kv_b" holds, head by head, the rows of "attn_k_b" and "attn_v_b"
};

/// What an index chooses (sparse_index.h).
enum class IndexKind {
  Positions,  ///< one by one, the same for all heads: of latent attention
  Blocks,     ///< of neighbours, for each KV head its own
  Pools,      ///< of neighbours whose keys are pooled, the same for all heads: of latent attention
  Means,      ///< of neighbours, by the means of their keys, the same for all heads
  Rows,  ///< of those that stand for pools of positions, the same for all heads (pooled_attention.h)
  LinearRows,  ///< the same, by keys that are linear in these rows
};

/// Sparse attention: an index of few small heads, whose keys have rows of their own in the cache,
/// scores all positions, and attention looks at the best.
struct IndexSpec {
  IndexKind kind = IndexKind::Positions;
  uint32_t count = 0;     ///< positions, blocks or pools, at most; 0: there is no index
  uint32_t heads = 0;     ///< of the query
  uint32_t key_dim = 0;   ///< of one head, and of the key that all share
  uint32_t together = 1;  ///< positions of a block or a pool
  uint32_t local = 0;     ///< of the last blocks, that are looked at whatever they score
  /// As many values are rotated as attention rotates: the first of a head, or the last.
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  bool rotates_last = false;
  float epsilon = 1e-6f;  ///< of the key's norm, and the query's if it has one
  /// The layer looks at what the nearest one before it with an index of its own chose.
  bool shared = false;
  /// Rows are chosen out of the best blocks of `candidate_block` rows, `candidate_blocks` of them at
  /// most, as one layer finds them; that layer itself chooses among all rows, as those before it do.
  /// 0: among all.
  uint32_t candidate_blocks = 0;
  uint32_t candidate_block = 0;
  bool finds_candidates = false;

  /// f32 values that a layer keeps of a sequence: the last keys of a block.
  [[nodiscard]] uint64_t state_values() const {
    return kind == IndexKind::Means ? uint64_t{together - 1} * key_dim : 0;
  }
};

/// What is attended is multiplied by act("attn_gate" x), x being what attention reads.
struct OutputGateSpec {
  uint32_t columns = 0;  ///< one for each head, or for each of their values; 0: there is none
  uint32_t activation = TENON_ACTIVATION_SIGMOID;
};

/// Queries grow with their position (Llama 4): x (1 + scale ln(floor((p + offset) / length) + 1)).
struct PositionScale {
  float scale = 0.0f;  ///< 0: they do not
  uint32_t length = 1;
  uint32_t offset = 0;
};

/// Attention to the last positions and to pools of all of them (pooled_attention.h), of heads that
/// share one row, which is key and value.
struct PoolSpec {
  uint32_t query_rank =
      0;  ///< queries come from a row of this size; 0: attention is of another kind
  uint32_t output_groups = 1;  ///< of heads, each with its matrix to `output_rank` values
  uint32_t output_rank = 0;
  uint32_t stride = 0;     ///< positions of a pool; 0: the layer has none
  bool overlap = false;    ///< rows are made of the pool before, too
  bool query_norm = true;  ///< heads of the query are normalised
  bool place_bias = true;  ///< gates have a bias for each place in a pool
  /// The layer looks at the rows of this one, which makes them and has keys of them for its index; -1:
  /// at its own.
  int32_t rows_of = -1;
  bool rounded = false;  ///< rows have few bits, and so do queries and keys of the index

  /// Whether rows are made of several positions, or of one by a gate all the same.
  [[nodiscard]] bool pools_positions() const { return stride > 1 || (stride == 1 && place_bias); }
};

/// Softmax attention over the cache.
struct AttentionSpec {
  uint32_t heads = 0;      ///< 0: the layer has no attention
  uint32_t kv_heads = 0;   ///< divides heads
  uint32_t key_dim = 0;    ///< of one head
  uint32_t value_dim = 0;  ///< of one head
  uint32_t window = 0;     ///< looks back this far; 0: to the beginning
  uint32_t mask = TENON_MASK_CAUSAL;
  float scale = 1.0f;     ///< of the scores
  float soft_cap = 0.0f;  ///< of the scores; 0: none
  RopeSpec rope;          ///< no dimensions: positions are not rotated
  QkNorm qk_norm = QkNorm::None;
  float qk_norm_epsilon = 0.0f;
  bool rope_before_norm = false;
  /// "attn_qkv" holds queries, keys and values in this order, as it does where a file has it.
  bool fused_qkv = false;
  bool fused_by_head = false;  ///< but head by head: a query, a key and a value of equal size
  Presence qkv_bias = Presence::Optional;
  Presence output_bias = Presence::Optional;
  float qkv_clamp = 0.0f;  ///< queries, keys and values lie in -this..this, before norms; 0: none
  bool output_gate =
      false;  ///< "attn_q" holds, head by head, a query and a gate of what is attended
  OutputGateSpec gate;
  float attended_scale = 1.0f;        ///< of what is attended
  NormSpec attended_norm;             ///< of what is attended, over all heads together; or none
  Presence sinks = Presence::Absent;  ///< "attn_sinks": a logit of each head that has no value
  bool value_norm = false;            ///< values are normalised head by head, without a weight
  bool value_may_be_key = false;      ///< without "attn_v": the key before its norm and rotation
  int32_t cache_of = -1;  ///< reads the cache of this layer and has no keys of its own; -1: its own
  PositionScale query_scale;
  bool alibi = false;  ///< scores fall with the distance (Press et al. 2022, arXiv 2108.12409)
  LatentSpec latent;
  PoolSpec pools;
  IndexSpec index;
};

/// Of what matrix the inputs of a selective scan are made, and what goes through the convolution.
enum class MambaVersion {
  First,   ///< a decay for each value; dt, B and C from "ssm_x" of what was convolved
  Second,  ///< a decay for each head; all of them from "ssm_in", and B and C are convolved, too
  Plamo,   ///< PLaMo 2: the heads of the second with the inputs of the first
};

/// RMS norms of the time step's row before its matrix, of B and of C.
enum class ScanNorms {
  None,
  Unweighted,  ///< Falcon Mamba
  Weighted,    ///< "ssm_dt_norm", "ssm_b_norm", "ssm_c_norm"
};

/// Selective state space: Mamba (Gu and Dao 2023, arXiv 2312.00752) and Mamba 2 (Dao and Gu 2024,
/// arXiv 2405.21060).
struct StateSpaceSpec {
  MambaVersion version = MambaVersion::Second;
  uint32_t inner = 0;   ///< columns; 0: there is none
  uint32_t heads = 0;   ///< divides inner; Mamba: = inner
  uint32_t groups = 1;  ///< of heads, each with its B and C
  uint32_t state = 0;   ///< values of one column's state
  uint32_t kernel = 0;  ///< taps of the convolution
  uint32_t rank = 0;    ///< of the time step's projection; 0 in Mamba 2
  ScanNorms norms = ScanNorms::None;
  std::string_view norm_suffix = ".weight";  ///< of the names of their weights
  float epsilon = 0.0f;

  /// What goes through the convolution.
  [[nodiscard]] uint64_t conv_columns() const {
    return version == MambaVersion::Second ? inner + uint64_t{2} * groups * state : inner;
  }
  [[nodiscard]] uint64_t conv_values() const { return (kernel - 1) * conv_columns(); }
  [[nodiscard]] uint64_t state_values() const {
    return inner == 0 ? 0 : conv_values() + uint64_t{inner} * state;
  }
};

/// Gated delta rule (Yang et al. 2024, arXiv 2412.06464), and with a decay for each channel Kimi
/// Delta Attention (2025, arXiv 2510.26692).
struct DeltaSpec {
  uint32_t key_heads = 0;
  uint32_t value_heads = 0;  ///< 0: there is none; a multiple of key_heads
  uint32_t key_dim = 0;
  uint32_t value_dim = 0;
  uint32_t kernel = 0;       ///< taps of the convolution
  bool interleaved = false;  ///< value head j reads key head j % key_heads, not neighbours the same
  bool each_channel = false;  ///< Kimi Delta Attention: a decay for each key channel
  bool fused_rates = false;   ///< "ssm_ba" holds the rows of beta and alpha, by key head
  /// Of each_channel: the decay and the gate come from one matrix each ("ssm_f_a", "ssm_g_a"), not
  /// from products of two.
  bool full_rank = false;
  bool full_gate = false;      ///< the gate alone does ("ssm_g")
  bool negative_rate = false;  ///< "ssm_a" [heads] holds -a where there is a lower_bound
  /// Of each_channel: decay = lower_bound sigmoid(a (f x + bias)). 0: a softplus(f x + bias).
  float lower_bound = 0.0f;
  float epsilon = 0.0f;
  bool sigmoid_gate = false;  ///< of what comes out, without each_channel; else a SiLU

  [[nodiscard]] uint64_t key_columns() const { return uint64_t{key_heads} * key_dim; }
  [[nodiscard]] uint64_t value_columns() const { return uint64_t{value_heads} * value_dim; }
  [[nodiscard]] uint64_t conv_columns() const { return 2 * key_columns() + value_columns(); }
  [[nodiscard]] uint64_t conv_values() const { return (kernel - 1) * conv_columns(); }
  [[nodiscard]] uint64_t state_values() const {
    return value_heads == 0 ? 0 : conv_values() + key_dim * value_columns();
  }
};

/// Rows by the hashes of the last tokens, added to the residual streams before a layer (Engram,
/// arXiv 2601.07372, as Qwen4-Exp and DeepSeek-V4.1 have it).
struct NgramSpec {
  NgramLookup lookup;     ///< without heads nothing is added
  uint32_t row = 0;       ///< values of a row of the table
  uint32_t kernel = 0;    ///< taps of the convolution; 0: there is none
  uint32_t dilation = 0;  ///< tokens from one of them to the next

  [[nodiscard]] bool adds() const { return !lookup.heads.empty(); }
  [[nodiscard]] uint64_t state_values(uint64_t columns) const {
    return kernel == 0 ? 0 : uint64_t{kernel - 1} * dilation * columns;
  }
};

/// A short convolution between two gates (LFM2).
struct ShortConvSpec {
  uint32_t kernel = 0;  ///< taps; 0: there is none
};

/// RWKV 6 (Peng et al. 2024, arXiv 2404.05892) and 7 (Peng et al. 2025, arXiv 2503.14456).
struct WkvSpec {
  uint32_t head_dim = 0;  ///< 0: there is none
  uint32_t shifts = 2;  ///< rows that are kept: of the time mix, and 2: of the channel mix as well
  uint32_t decay_rank = 0;
  // RWKV 6
  float result_scale = 1.0f;  ///< of what leaves the layer
  uint32_t mix_rank = 0;      ///< of how much of the token before counts; 0: RWKV 7
  uint32_t kv_heads = 0;      ///< of keys and values, each of which several heads share
  bool linear = false;  ///< gated linear attention: no bonus and no norm of heads, keys times 1 - w
  // RWKV 7
  uint32_t rate_rank = 0;   ///< of the in-context learning rate
  uint32_t value_rank = 0;  ///< of the share of the first layer's values
  uint32_t gate_rank = 0;   ///< 0: there is no gate
  Presence head_norm = Presence::Required;
  float epsilon = 64e-5f;  ///< of the norm of heads, whatever that of rows is
};

/// How a gate and its activation are bent (gpt-oss): act(min(gate, limit)) (clamp(up) + up_offset).
struct GateSpec {
  float alpha = 1.0f;  ///< SiLU is x / (1 + exp(-alpha x))
  float limit = 0.0f;  ///< 0: none
  float up_offset = 0.0f;
  bool limit_after = false;  ///< min(act(gate), limit) instead
  /// SiTU (Kimi K3): situ tanh(gate / situ) / (1 + exp(-gate)) times situ_up tanh(up / situ_up),
  /// or times up where situ_up is 0. 0: none of this.
  float situ = 0.0f;
  float situ_up = 0.0f;
};

/// Small experts beside the others, one for each group of neighbours ("ffn_up_chexps"). The matrices of
/// a group stand in the program once for each of its members, so that the same route chooses them.
struct AdjugateSpec {
  uint32_t group = 0;  ///< experts that share one; 0: there are none
  uint32_t width = 0;  ///< of one
  float scale = 1.0f;  ///< of what they add
};

/// A mixture of experts (Shazeer et al. 2017).
struct ExpertSpec {
  uint32_t count = 0;          ///< 0: there are none
  uint32_t used = 0;           ///< 1..count, by each token
  uint32_t width = 0;          ///< of one expert
  bool sigmoid = false;        ///< scores are sigmoids of the logits, not their softmax
  bool sqrt_softplus = false;  ///< or square roots of their softplus
  bool told_by_token = false;  ///< "ffn_gate_tid2eid" has the experts of each token
  bool normalised = true;      ///< the weights of a token's experts sum to 1, before `scale`
  float scale = 1.0f;          ///< multiplies them
  Presence selection_bias = Presence::Absent;  ///< "exp_probs_b.bias" counts for the choice alone
  uint32_t groups = 1;  ///< experts are chosen out of the best `groups_used` groups
  uint32_t groups_used = 1;
  bool weighs_input = false;     ///< the weight multiplies what an expert reads, not what it gives
  float router_soft_cap = 0.0f;  ///< of the router's logits; 0: none
  /// SparseMixer (Liu et al. 2024, arXiv 2409.12136): an expert's weight is its share among those
  /// whose logits come as close as this. 0: among all, or the chosen.
  float closeness = 0.0f;
  uint32_t latent_width = 0;  ///< experts work between "ffn_latent_down" and "_up"; 0: they do not
  std::string_view latent_name = "ffn_latent";  ///< of these
  Presence latent_norm = Presence::Absent;      ///< of what the experts give, "ffn_latent_norm"
  Presence bias = Presence::Absent;             ///< in the router and each expert's matrices
  uint32_t shared_width = 0;  ///< width of the expert that all tokens use; 0: none
  bool shared_gate = false;   ///< the shared expert has its own sigmoid weight
  bool shared_fused = false;  ///< "ffn_up_shexp" holds the gate's rows, then the rows of up
  float sum_scale = 1.0f;     ///< scales the sum of routed and shared experts
  /// The dense feed-forward runs beside them, and its sum with them is multiplied by this. 0: they
  /// are in its place.
  float dense_beside = 0.0f;
  GateSpec gate;          ///< of all but the shared one
  AdjugateSpec adjugate;  ///< none in latent space
};

enum class FeedForwardKind {
  Gated,  ///< down(act(gate x) up x): Shazeer 2020
  Plain,  ///< down(act(up x))
};

/// XIELU's numbers for a layer (Huang and Schlag 2024, arXiv 2411.13010).
struct XieluSpec {
  float alpha_p = 0.0f;
  float alpha_n = 0.0f;
  float beta = 0.0f;
  float epsilon = 0.0f;
};

struct FeedForwardSpec {
  FeedForwardKind kind = FeedForwardKind::Gated;
  uint32_t activation = TENON_ACTIVATION_SILU;  ///< of the gate, or of what has none
  GateSpec gate;                                ///< of the dense one and the shared expert
  /// Of a dense gate only what exceeds its row's mean by so many standard deviations counts, and
  /// only by as much as it does.
  std::optional<float> gate_cut{};
  XieluSpec xielu;
  uint32_t width = 0;  ///< of the dense one; 0 without experts: the layer has no feed-forward
  bool fused_gate_up = false;  ///< "ffn_up" holds the gate's rows, then its own
  Presence bias = Presence::Optional;
  NormSpec hidden_norm;  ///< of what "ffn_down" of the dense one reads; or none
  ExpertSpec experts;    ///< in place of the dense one, if there are any
};

/// x += residual_scale post_norm(mixer(norm(x))), and the same with the feed-forward. Norms that
/// have no name are left out. The mixer lets positions see each other: attention, a recurrence, or
/// the sum of both.
struct LayerSpec {
  NormSpec entry_norm;  ///< of x before all else, by its whole name; or none
  NormSpec attention_norm;
  AttentionSpec attention;
  StateSpaceSpec state_space;
  DeltaSpec delta;
  ShortConvSpec short_conv;
  WkvSpec wkv;
  NgramSpec ngram;
  NormSpec attention_post_norm;
  NormSpec feed_forward_norm;
  FeedForwardSpec feed_forward;
  NormSpec feed_forward_post_norm;
  /// Both read the same x (the feed-forward what attention's norm gives, unless it has a norm of
  /// its own), and their sum is added to it.
  bool parallel = false;
  /// x = post_norm(x + branch), as in the first Transformers, not x + post_norm(branch).
  bool norms_sum = false;
  float residual_scale = 1.0f;
  /// Of the file, which has its tensors: where several layers have those of one. Else its own number.
  std::optional<uint32_t> block{};
  uint32_t state_values = 0;  ///< f32 values that the recurrences of the layer keep of a sequence

  [[nodiscard]] bool has_mixer() const { return attention.heads > 0 || state_values > 0; }
  [[nodiscard]] bool has_feed_forward() const {
    return feed_forward.width > 0 || feed_forward.experts.count > 0;
  }
};

/// What blocks that predict further tokens (prediction.h) are made of and go on from.
struct PredictionSpec {
  /// Of the blocks, in the file's order. None: each is of the kind of the trunk's last layer with
  /// attention.
  std::vector<LayerSpec> layers;
  /// The trunk's hidden states have been through its output norm when the first block reads them.
  bool reads_normed = true;
  /// What a block hands on has been through the norm of its head.
  bool hands_on_normed = true;
};

/// Hyper-connections (Zhu et al. 2024, arXiv 2409.19606): residual streams that a block reads as one,
/// each with a share of its own, and to each of which its result is added with a factor of its own.
/// Of the independent kind, which leaves the streams apart, or of the manifold-constrained one (mHC,
/// Xie et al. 2025, arXiv 2512.24880), which mixes them with each other around each block.
struct HyperConnectionSpec {
  uint32_t streams = 0;     ///< 0: there are none, and one residual stream
  float epsilon = 0.0f;     ///< is added to shares, and of the independent kind to factors
  float magnitude = 1.0f;   ///< factors lie between 0 and this
  uint32_t iterations = 0;  ///< of Sinkhorn's, of the matrix that mixes; 0: streams are not mixed
  bool mean = false;        ///< the output norm reads the mean of the streams, not a weighted sum
  /// A block reads by the shares that the one before it found, the first block the first stream, and
  /// the output norm by those of the last one.
  bool late = false;
  uint32_t low_rank = 0;  ///< of the gates of each value (gated_residual.h); 0: shares of streams
};

/// A head over the row of a text: scores of labels, of which rerankers have one.
struct ClassifierSpec {
  uint32_t labels = 0;  ///< 0: there is none
  uint32_t width = 0;   ///< of "cls", a matrix before the scores' own; 0: there is none
  uint32_t activation = TENON_ACTIVATION_TANH;  ///< after "cls"
  bool scores = false;                          ///< "cls.output" gives the scores; else "cls" does
  uint32_t pooling = TENON_POOL_FIRST;          ///< of the row that it reads, in an encoder
};

/// Tokens [first, end).
struct TokenRun {
  uint32_t first = 0;
  uint32_t end = 0;
};

/// A model: a decoder, which gives logits; an encoder, which gives one row for a text; or both, the
/// decoder reading what the encoder made of another text. As it comes out of read_model_spec, all
/// sizes are in range and fit together.
struct ModelSpec {
  std::string architecture;  ///< "llama"
  uint32_t width = 0;        ///< of the residual stream
  uint32_t vocab = 0;        ///< tokens; the logits of a row
  uint32_t vocab_rows = 0;   ///< of the embedding, vocab or more: those beyond are never read
  uint32_t trained_context = 0;
  float embedding_scale = 1.0f;
  bool learned_positions = false;  ///< "position_embd" [trained_context, width] is added
  NormSpec embedding_norm;         ///< or none
  uint32_t token_types = 0;        ///< rows of "token_types", the first of which is added; 0: none
  std::vector<LayerSpec> layers;   ///< at least one
  /// Of the file, after those of the layers: they predict further tokens (prediction.h).
  uint32_t unused_blocks = 0;
  PredictionSpec prediction;  ///< of those
  NormSpec output_norm;
  HyperConnectionSpec hyper_connection;
  uint32_t residual_block = 0;   ///< layers of one residual (attention_residual.h); 0: all
  uint32_t streams = 1;          ///< residual streams, of which one passes through the blocks
  uint32_t active_stream = 0;    ///< that one, below streams
  uint32_t layer_embedding = 0;  ///< values of a token's embedding for each layer; 0: there is none
  float logit_scale = 1.0f;
  float logit_soft_cap = 0.0f;   ///< 0: none
  std::vector<TokenRun> unsaid;  ///< apart and ascending: tokens whose logits are the lowest number
  Presence output_bias = Presence::Absent;
  std::optional<uint32_t> pooling{};  ///< TENON_POOL_*: the model gives rows and has no logits
  ClassifierSpec classifier;          ///< of such a model
  std::array<uint32_t, 2> pooled_widths{};  ///< of matrices after the pooling; 0: there is none
  std::vector<LayerSpec> encoder_layers;    ///< of an encoder-decoder
  uint32_t relative_buckets = 0;            ///< of a table of biases by distance

  /// The layers and then those of prediction blocks: in the file's order.
  [[nodiscard]] std::vector<LayerSpec*> blocks() {
    std::vector<LayerSpec*> all;
    for (LayerSpec& layer : layers) all.push_back(&layer);
    for (LayerSpec& layer : prediction.layers) all.push_back(&layer);
    return all;
  }
  /// Whether tokens see those after them, so that a text is computed whole.
  [[nodiscard]] bool sees_ahead() const {
    bool ahead = false;
    for (const LayerSpec& layer : layers) {
      ahead = ahead || (layer.attention.heads > 0 && layer.attention.mask == TENON_MASK_SYMMETRIC);
    }
    return ahead;
  }
  /// Of LongRoPE: positions up to which texts have the table for short ones; 0: all texts have one.
  [[nodiscard]] uint32_t short_context() const {
    uint32_t positions = 0;
    for (const LayerSpec& layer : layers) {
      const RopeSpec& rope = layer.attention.rope;
      if (!rope.long_divisors.empty()) positions = rope.original_context;
    }
    return positions;
  }
  /// Whether some layers make a model, too: none refers to another one or to how many there are.
  [[nodiscard]] bool layers_stand_alone() const {
    bool alone = layer_embedding == 0;
    for (const LayerSpec& layer : layers) {
      alone = alone && layer.attention.cache_of < 0 && !layer.attention.index.shared &&
              layer.attention.pools.rows_of < 0 && !layer.block;
    }
    return alone;
  }
};

}  // namespace tenon
