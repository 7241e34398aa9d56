// Description of a model as numbers and names: all layers, and the parts before and after them. An
// architecture writes it from a file's metadata; blocks read it to build the program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/block_specs.h"
#include "arch/blocks/rope.h"
#include "tenon/backend.h"

namespace tenon {

/// Presence of a kind of tensor in a model.
enum class Presence { Absent, Optional, Required };

enum class NormKind {
  Rms,              ///< root mean square (Zhang and Sennrich 2019)
  RmsUnweighted,    ///< without a weight: no tensor has the name
  Layer,            ///< with a weight and a bias (Ba et al. 2016)
  LayerUnbiased,    ///< with a weight alone
  LayerUnweighted,  ///< without either: no tensor has the name
};

/// A normalisation, with the name of its tensors in the layer: "attn_norm". An empty name means
/// none.
struct NormSpec {
  std::string_view name{};
  NormKind kind = NormKind::Rms;
  float epsilon = 0.0f;
  std::string_view suffix = ".weight";  ///< suffix of the weight's name
};

/// RMS norms of queries and keys ("attn_q_norm", "attn_k_norm").
enum class QkNorm {
  None,
  EachHead,       ///< a weight [key_dim] shared by all heads
  MayBeEachHead,  ///< EachHead if the file has the weight
  RmsOfHead,      ///< a weight [key_dim] per head
  LayerOfHead,    ///< layer norms with a weight [key_dim] and maybe a bias per head
  Unweighted,     ///< per head, without a weight
  WholeRow,       ///< over all heads together, before the split
  GainOfQuery,    ///< per head, without a weight; "attn_q_norm" is a factor per query head
};

/// Attention's result is multiplied by act("attn_gate" x), where x is attention's input.
struct OutputGateSpec {
  uint32_t columns = 0;  ///< gates: one per head or per value of the heads; 0 means none
  uint32_t activation = TENON_ACTIVATION_SIGMOID;
};

/// Queries grow with their position (Llama 4): x (1 + scale ln(floor((p + offset) / length) + 1)).
struct PositionScale {
  float scale = 0.0f;  ///< 0 means no growth
  uint32_t length = 1;
  uint32_t offset = 0;
};

/// Softmax attention over the cache.
struct AttentionSpec {
  uint32_t heads = 0;      ///< 0 means no attention in the layer
  uint32_t kv_heads = 0;   ///< divides heads
  uint32_t key_dim = 0;    ///< per head
  uint32_t value_dim = 0;  ///< per head
  uint32_t window = 0;     ///< visible positions; 0 means all
  uint32_t mask = TENON_MASK_CAUSAL;
  float scale = 1.0f;     ///< multiplies the scores
  float soft_cap = 0.0f;  ///< limits the scores; 0 means none
  RopeSpec rope;          ///< 0 dimensions: positions are not rotated
  QkNorm qk_norm = QkNorm::None;
  float qk_norm_epsilon = 0.0f;
  bool rope_before_norm = false;
  /// "attn_qkv" holds queries, keys and values in this order. Implied if the file has the tensor.
  bool fused_qkv = false;
  /// "attn_qkv" is grouped by head: a query, a key and a value of equal size
  bool fused_by_head = false;
  Presence qkv_bias = Presence::Optional;
  Presence output_bias = Presence::Optional;
  /// Clamps queries, keys and values to -qkv_clamp..qkv_clamp before norms; 0 means none.
  float qkv_clamp = 0.0f;
  /// "attn_q" holds, per head, a query and a gate of the attended values.
  bool output_gate = false;
  OutputGateSpec gate;
  float attended_scale = 1.0f;        ///< multiplies the attended values
  NormSpec attended_norm;             ///< norm of the attended values, over all heads; may be none
  Presence sinks = Presence::Absent;  ///< "attn_sinks": a logit per head without a value
  bool value_norm = false;            ///< normalises values per head, without a weight
  bool value_may_be_key = false;      ///< without "attn_v": the key before its norm and rotation
  /// Layer whose cache this one reads, without keys of its own; -1 means its own.
  int32_t cache_of = -1;
  PositionScale query_scale;
  bool alibi = false;  ///< scores fall with distance (Press et al. 2022, arXiv 2108.12409)
  /// Specifications of rare kinds of attention and of their parts. A mixer among them replaces
  /// attention_block().
  BlockSpecs specs;
};

/// Variants of a gate and its activation (gpt-oss): act(min(gate, limit)) (clamp(up) + up_offset).
struct GateSpec {
  float alpha = 1.0f;  ///< SiLU is x / (1 + exp(-alpha x))
  float limit = 0.0f;  ///< 0 means none
  float up_offset = 0.0f;
  bool limit_after = false;  ///< min(act(gate), limit) instead
  /// SiTU (Kimi K3): situ tanh(gate / situ) / (1 + exp(-gate)) times situ_up tanh(up / situ_up), or
  /// times up if situ_up is 0. 0 means no SiTU.
  float situ = 0.0f;
  float situ_up = 0.0f;
};

/// Small experts beside the others, one per group of neighbours ("ffn_up_chexps"). The program
/// repeats a group's matrices for each member, so that the same route selects them.
struct AdjugateSpec {
  uint32_t group = 0;  ///< experts per group; 0 means none
  uint32_t width = 0;  ///< width of each
  float scale = 1.0f;  ///< multiplies their sum
};

/// A mixture of experts (Shazeer et al. 2017).
struct ExpertSpec {
  uint32_t count = 0;          ///< 0 means none
  uint32_t used = 0;           ///< experts per token, 1..count
  uint32_t width = 0;          ///< width of each expert
  bool sigmoid = false;        ///< scores are sigmoids of the logits instead of their softmax
  bool sqrt_softplus = false;  ///< scores are square roots of the logits' softplus
  bool told_by_token = false;  ///< "ffn_gate_tid2eid" lists the experts of each token
  bool normalised = true;      ///< weights of a token's experts sum to 1, before `scale`
  float scale = 1.0f;          ///< multiplies the weights
  Presence selection_bias = Presence::Absent;  ///< "exp_probs_b.bias" affects only the choice
  uint32_t groups = 1;  ///< experts are selected from the best `groups_used` groups
  uint32_t groups_used = 1;
  bool weighs_input = false;     ///< the weight multiplies an expert's input instead of its output
  float router_soft_cap = 0.0f;  ///< limits the router's logits; 0 means none
  /// SparseMixer (Liu et al. 2024, arXiv 2409.12136): an expert's weight is its share among experts
  /// with logits within this distance. 0 means among all, or the selected ones.
  float closeness = 0.0f;
  uint32_t latent_width = 0;  ///< experts work between "ffn_latent_down" and "_up"; 0 means none
  std::string_view latent_name = "ffn_latent";  ///< prefix of the latent tensors
  Presence latent_norm = Presence::Absent;      ///< norm of the experts' sum, "ffn_latent_norm"
  Presence bias = Presence::Absent;             ///< biases of the router and of each expert
  uint32_t shared_width = 0;  ///< width of the expert used by all tokens; 0 means none
  bool shared_gate = false;   ///< the shared expert has its own sigmoid weight
  bool shared_fused = false;  ///< "ffn_up_shexp" holds the gate's rows, then the rows of up
  float sum_scale = 1.0f;     ///< scales the sum of routed and shared experts
  /// The dense feed-forward also runs, and the sum is multiplied by this. 0 means that experts
  /// replace it.
  float dense_beside = 0.0f;
  GateSpec gate;          ///< applies to all experts but the shared one
  AdjugateSpec adjugate;  ///< not in latent space
};

enum class FeedForwardKind {
  Gated,  ///< down(act(gate x) up x): Shazeer 2020
  Plain,  ///< down(act(up x))
};

/// Parameters of XIELU in a layer (Huang and Schlag 2024, arXiv 2411.13010).
struct XieluSpec {
  float alpha_p = 0.0f;
  float alpha_n = 0.0f;
  float beta = 0.0f;
  float epsilon = 0.0f;
};

struct FeedForwardSpec {
  FeedForwardKind kind = FeedForwardKind::Gated;
  uint32_t activation = TENON_ACTIVATION_SILU;  ///< follows the gate, or "ffn_up" without a gate
  GateSpec gate;  ///< applies to the dense and the shared expert's gate
  /// Reduces each value of a dense gate by its row's mean plus this many standard deviations, but
  /// not below 0.
  std::optional<float> gate_cut{};
  XieluSpec xielu;
  uint32_t width = 0;  ///< dense width; 0 without experts means no feed-forward in the layer
  bool fused_gate_up = false;  ///< "ffn_up" holds the gate's rows, then those of up
  Presence bias = Presence::Optional;
  NormSpec hidden_norm;  ///< norm of the dense "ffn_down"'s input; may be none
  ExpertSpec experts;    ///< if any, replace the dense feed-forward
};

/// x += residual_scale post_norm(mixer(norm(x))), and likewise for the feed-forward. Norms without
/// a name are left out. The mixer mixes positions: attention, a recurrence, or the sum of both.
struct LayerSpec {
  NormSpec entry_norm;  ///< norm of x before all else, with its full name; may be none
  NormSpec attention_norm;
  AttentionSpec attention;
  NormSpec attention_post_norm;
  NormSpec feed_forward_norm;
  FeedForwardSpec feed_forward;
  NormSpec feed_forward_post_norm;
  /// Mixer and feed-forward read the same x, and their sum is added to it. Without a norm of its
  /// own, the feed-forward reads the result of attention's norm.
  bool parallel = false;
  /// x = post_norm(x + branch), as in the first Transformers, instead of x + post_norm(branch).
  bool norms_sum = false;
  float residual_scale = 1.0f;
  /// Block of the file that holds this layer's tensors, if layers share one; else the layer's own
  /// index.
  std::optional<uint32_t> block{};
  BlockSpecs specs;  ///< specifications of rare blocks; mixers add to attention

  [[nodiscard]] bool has_mixer() const { return attention.heads > 0 || specs.has_mixer(); }
  [[nodiscard]] bool has_feed_forward() const {
    return feed_forward.width > 0 || feed_forward.experts.count > 0;
  }
};

/// Blocks that predict further tokens (prediction.h), and their inputs.
struct PredictionSpec {
  /// Layers of the blocks, in the file's order. Empty means that each is like the trunk's last
  /// layer with attention.
  std::vector<LayerSpec> layers;
  /// The first block reads the trunk's hidden states after its output norm.
  bool reads_normed = true;
  /// A block's output has passed the norm of its head.
  bool hands_on_normed = true;
};

/// A head over a text's row: scores of labels. Rerankers have one label.
struct ClassifierSpec {
  uint32_t labels = 0;  ///< 0 means none
  uint32_t width = 0;   ///< rows of "cls", a matrix before the scores; 0 means none
  uint32_t activation = TENON_ACTIVATION_TANH;  ///< after "cls"
  bool scores = false;                          ///< "cls.output" gives the scores; else "cls" does
  uint32_t pooling = TENON_POOL_FIRST;          ///< pooling of the row that it reads, in an encoder
};

/// Tokens [first, end).
struct TokenRun {
  uint32_t first = 0;
  uint32_t end = 0;
};

/// A model: a decoder, which gives logits; an encoder, which gives a row per text; or both, where
/// the decoder reads the encoded source text. After read_model_spec all sizes are in range and
/// consistent.
struct ModelSpec {
  std::string architecture;  ///< "llama"
  uint32_t width = 0;        ///< columns of the residual stream
  uint32_t vocab = 0;        ///< tokens, and logits per row
  uint32_t vocab_rows = 0;   ///< rows of the embedding, at least vocab; the rest is never read
  uint32_t trained_context = 0;
  float embedding_scale = 1.0f;
  bool learned_positions = false;  ///< "position_embd" [trained_context, width] is added
  NormSpec embedding_norm;         ///< may be none
  uint32_t token_types = 0;        ///< rows of "token_types"; the first is added; 0 means none
  std::vector<LayerSpec> layers;   ///< not empty
  /// Blocks of the file after the layers, which predict further tokens (prediction.h).
  uint32_t unused_blocks = 0;
  PredictionSpec prediction;  ///< describes the unused blocks
  NormSpec output_norm;
  float logit_scale = 1.0f;
  float logit_soft_cap = 0.0f;  ///< 0 means none
  /// Tokens whose logits are set to the lowest number; disjoint, ascending.
  std::vector<TokenRun> unsaid;
  Presence output_bias = Presence::Absent;
  std::optional<uint32_t> pooling{};  ///< TENON_POOL_*, if the model gives rows instead of logits
  ClassifierSpec classifier;          ///< only in a model that gives rows
  std::array<uint32_t, 2> pooled_widths{};  ///< rows of matrices after the pooling; 0 means none
  std::vector<LayerSpec> encoder_layers;    ///< encoder of an encoder-decoder
  BlockSpecs specs;  ///< specifications of rare blocks that are not of a single layer

  /// Layers, then those of prediction blocks, in the file's order.
  [[nodiscard]] std::vector<LayerSpec*> blocks() {
    std::vector<LayerSpec*> all;
    for (LayerSpec& layer : layers) all.push_back(&layer);
    for (LayerSpec& layer : prediction.layers) all.push_back(&layer);
    return all;
  }
  /// True if tokens see later ones, so that a text must be computed whole.
  [[nodiscard]] bool sees_ahead() const {
    bool ahead = false;
    for (const LayerSpec& layer : layers) {
      ahead = ahead || (layer.attention.heads > 0 && layer.attention.mask == TENON_MASK_SYMMETRIC);
    }
    return ahead;
  }
  /// LongRoPE: longest context with the table for short texts; 0 means a single table.
  [[nodiscard]] uint32_t short_context() const {
    uint32_t positions = 0;
    for (const LayerSpec& layer : layers) {
      const RopeSpec& rope = layer.attention.rope;
      if (!rope.long_divisors.empty()) positions = rope.original_context;
    }
    return positions;
  }
  /// True if any prefix of the layers is a model: no layer refers to another, or to their number.
  [[nodiscard]] bool layers_stand_alone() const {
    bool alone = !specs.refers();
    for (const LayerSpec& layer : layers) {
      alone = alone && layer.attention.cache_of < 0 && !layer.attention.specs.refers() &&
              !layer.specs.refers() && !layer.block;
    }
    return alone;
  }
};

}  // namespace tenon
