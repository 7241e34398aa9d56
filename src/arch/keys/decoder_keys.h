// The metadata that most decoders have, read into a ModelSpec. An architecture reads these, then
// the keys of its own, and changes what it does differently.
#pragma once

#include "arch/keys/keys.h"
#include "arch/model_spec.h"
#include "file/model_file.h"

namespace tenon {

/// What an architecture decides and no key tells.
struct DecoderKind {
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  NormKind norm = NormKind::Rms;  ///< of all norms; says which key holds epsilon
  bool longrope = false;          ///< whether rope.scaling.type may say so
  /// Layers with 0 heads or KV heads have no attention, those of feed-forward length 0 no
  /// feed-forward.
  bool hybrid = false;
  bool may_be_unrotated = false;  ///< rope.dimension_count may be 0
  bool rotates = true;            ///< else no layer does, and keys of rope.* mean nothing
};

/// A decoder of layers x += attention(norm(x)), x += gated feed-forward(norm(x)), with the norms
/// "attn_norm", "ffn_norm" and "output_norm", full attention, and biases where the file has them:
///   block_count, embedding_length, context_length, feed_forward_length, attention.head_count,
///   .head_count_kv, .key_length, .value_length, .layer_norm(_rms)_epsilon, rope.*
/// Heads and widths may differ by layer. Without feed_forward_length, layers are as wide as
/// expert_feed_forward_length says. Throws Format for what is missing, out of range or
/// contradicts another key; Unsupported for an unknown scaling of rope.
ModelSpec read_decoder(const Keys& keys, const DecoderKind& kind);

/// rope.dimension_count, .freq_base and the context extensions. `key_dim`: of a head;
/// `trained_context`: what YaRN scales from where no key tells it.
RopeSpec read_rope(const Keys& keys, const DecoderKind& kind, uint32_t key_dim,
                   uint32_t trained_context);

/// LongRoPE (Ding et al. 2024, arXiv 2402.13753): two tables of divisors, that of texts up to the first
/// training's and that of longer ones. One holds for all positions of a program, so that its cache
/// stays valid: ProgramOptions::context decides.
void read_longrope(const Keys& keys, ModelSpec& model);

/// attention.sliding_window of all layers; 0 or missing: no window.
void read_window(const Keys& keys, ModelSpec& model);

/// Where a period of layers has the one that sees everything.
enum class SeesAll { First, Last };

/// attention.sliding_window of the layers that attention.sliding_window_pattern tells: a flag for
/// each, or the length of a period; `period` where the key is missing. Without a window, or with
/// one of 0, none has any.
void read_windows(const Keys& keys, uint32_t period, SeesAll where, ModelSpec& model);
/// Gives the layers with a window a rope that is not scaled, with rope.freq_base_swa and
/// rope.dimension_count_swa in place of those of all.
void read_window_rope(const Keys& keys, ModelSpec& model);

/// What an architecture multiplies with where the file does not tell.
struct Multipliers {
  double embedding = 1.0;
  double residual = 1.0;
  double logit_divisor = 1.0;
};

/// embedding_scale, residual_scale, attention.scale (in place of 1 / sqrt(key_dim)) and
/// logit_scale, by which logits are divided.
void read_multipliers(const Keys& keys, const Multipliers& defaults, ModelSpec& model);

/// Norms after the blocks, "post_attention_norm" and "post_ffw_norm", of the kind of those before
/// them.
void add_post_norms(ModelSpec& model);

/// What no key tells of a mixture of experts, or the keys of some files do not.
struct ExpertKind {
  bool normalised = true;  ///< a token's weights sum to 1 where "expert_weights_norm" is missing
  bool sigmoid = false;    ///< where "expert_gating_func" is missing
};

/// expert_*: puts a mixture of experts into every layer from `leading_dense_block_count` on that
/// has a feed-forward, with a selection bias where the file has one. None of them is shared. Throws
/// Format without experts or with counts that contradict each other, Unsupported for unknown ways
/// to choose.
void read_experts(const Keys& keys, const ExpertKind& kind, ModelSpec& model);

/// attention.shared_kv_layers: so many of the last layers read the cache of the last one of their
/// kind (with a window or without) that has keys of its own. Throws Format where there is none, or
/// none that fits.
void share_caches(const Keys& keys, ModelSpec& model);

/// Layers in whose place the file has no router are dense, those of prediction blocks, too.
void drop_missing_experts(const ModelFile& file, ModelSpec& model);

/// swiglu_clamp_exp and swiglu_clamp_shexp, one for each layer: limits of activated gates, and of
/// what they multiply, in experts and in the other feed-forwards. 0: none.
void read_gate_limits(const Keys& keys, ModelSpec& model);

/// The same, but limits of gates before they are activated; without swiglu_clamp_shexp that of the
/// experts is that of the others, too.
void read_early_gate_limits(const Keys& keys, ModelSpec& model);

/// attention.kv_lora_rank and what belongs to it: makes the attention of the layers that have any
/// latent. Files with attention.key_length_mla hold the matrices of each head apart, older ones
/// together. Where YaRN's magnitude multiplies scores (yarn_log_multiplier) instead of sines, the
/// scale tells.
void read_latent_attention(const Keys& keys, ModelSpec& model);

/// attention.clamp_kqv: queries, keys and values are clamped; 0 or less: they are not.
void read_qkv_clamp(const Keys& keys, ModelSpec& model);

/// attention.temperature_scale and .temperature_length (rope.scaling.original_context_length where
/// it is missing): queries grow with their position.
void read_query_scale(const Keys& keys, ModelSpec& model);

/// hyper_connection.count, .epsilon and .sinkhorn_iterations: residual streams that are mixed with each
/// other around each block (mHC).
void read_mixed_streams(const Keys& keys, ModelSpec& model);

/// Feed-forward of GPT-2: no gate, biases, GELU by tanh unless read_activation() finds another.
///   fallback  the activation if the file names none
void set_plain_gelu(const Keys& keys, LayerSpec& layer,
                    uint32_t fallback = TENON_ACTIVATION_GELU_TANH);

/// pooling_type, of an encoder: makes it one, whose tokens all see each other.
void make_encoder(const Keys& keys, uint32_t fallback, ModelSpec& model);

/// nextn_predict_layers: the last blocks of the file predict further tokens and are left out. They
/// are of the trunk's kind.
void drop_prediction_layers(const Keys& keys, ModelSpec& model);
/// The same where they differ from the trunk: what has been read of them is kept in
/// PredictionSpec::layers. Comes after all that is read layer by layer.
void part_prediction_layers(const Keys& keys, ModelSpec& model);

/// The expert that all tokens use, of the width that "expert_shared_feed_forward_length" tells,
/// else as wide as "expert_shared_count" others.
void read_shared_expert(const Keys& keys, ModelSpec& model);

}  // namespace tenon
