// Reads the metadata common to most decoders into a ModelSpec. An architecture reads these, then
// its own keys, and changes the differences.
#pragma once

#include "arch/keys/keys.h"
#include "arch/model_spec.h"
#include "file/model_file.h"

namespace tenon {

/// Properties of an architecture without a key.
struct DecoderKind {
  uint32_t rope_style = TENON_ROPE_ADJACENT;
  NormKind norm = NormKind::Rms;  ///< kind of all norms; selects the key of epsilon
  bool longrope = false;          ///< rope.scaling.type may be longrope
  /// Layers with 0 heads or KV heads have no attention; layers with feed-forward length 0 have no
  /// feed-forward.
  bool hybrid = false;
  bool may_be_unrotated = false;  ///< rope.dimension_count may be 0
  bool rotates = true;  ///< false means that no layer rotates, and keys of rope.* are ignored
};

/// Reads a decoder of layers x += attention(norm(x)), x += gated feed-forward(norm(x)), with the
/// norms "attn_norm", "ffn_norm" and "output_norm", full attention, and biases if the file has
/// them:
///   block_count, embedding_length, context_length, feed_forward_length, attention.head_count,
///   .head_count_kv, .key_length, .value_length, .layer_norm(_rms)_epsilon, rope.*
/// Heads and widths may differ by layer. Without feed_forward_length, expert_feed_forward_length
/// gives the width. Throws Format for keys that are missing, out of range or inconsistent,
/// Unsupported for an unknown rope scaling.
ModelSpec read_decoder(const Keys& keys, const DecoderKind& kind);

/// Reads rope.dimension_count, .freq_base and the context extensions. `key_dim` is the size of a
/// head; `trained_context` is YaRN's original context if no key gives it.
RopeSpec read_rope(const Keys& keys, const DecoderKind& kind, uint32_t key_dim,
                   uint32_t trained_context);

/// Reads LongRoPE (Ding et al. 2024, arXiv 2402.13753): a table of divisors for texts up to the
/// first training's context and another for longer ones. A program uses one for all positions, so
/// that its cache stays valid: ProgramOptions::context selects it.
void read_longrope(const Keys& keys, ModelSpec& model);

/// Reads attention.sliding_window for all layers; 0 or missing means no window.
void read_window(const Keys& keys, ModelSpec& model);

/// Position of the layer without a window in a period of layers.
enum class SeesAll { First, Last };

/// Reads attention.sliding_window for the layers of attention.sliding_window_pattern: a flag per
/// layer, or the length of a period; `period` if that key is missing. No layer has a window if
/// attention.sliding_window is 0 or missing.
void read_windows(const Keys& keys, uint32_t period, SeesAll where, ModelSpec& model);
/// Gives layers with a window an unscaled rope, with rope.freq_base_swa and
/// rope.dimension_count_swa instead of the common keys.
void read_window_rope(const Keys& keys, ModelSpec& model);

/// Default multipliers of an architecture.
struct Multipliers {
  double embedding = 1.0;
  double residual = 1.0;
  double logit_divisor = 1.0;
};

/// Reads embedding_scale, residual_scale, attention.scale (instead of 1 / sqrt(key_dim)) and
/// logit_scale, which divides the logits.
void read_multipliers(const Keys& keys, const Multipliers& defaults, ModelSpec& model);

/// Adds norms after the blocks, "post_attention_norm" and "post_ffw_norm", of the kind of those
/// before them.
void add_post_norms(ModelSpec& model);

/// Defaults of a mixture of experts that some or all files leave out.
struct ExpertKind {
  bool normalised = true;  ///< weights of a token sum to 1 if "expert_weights_norm" is missing
  bool sigmoid = false;    ///< used if "expert_gating_func" is missing
};

/// Reads expert_*: gives every layer with a feed-forward, from `leading_dense_block_count` on, a
/// mixture of experts, with a selection bias if the file has it. No expert is shared. Throws Format
/// without experts or for inconsistent counts, Unsupported for an unknown gating.
void read_experts(const Keys& keys, const ExpertKind& kind, ModelSpec& model);

/// Reads attention.shared_kv_layers: this many last layers read the cache of the last layer of
/// their kind (with or without a window) that has its own keys. Throws Format if no such layer
/// exists or fits.
void share_caches(const Keys& keys, ModelSpec& model);

/// Makes layers dense if the file has no router for them; includes prediction blocks.
void drop_missing_experts(const ModelFile& file, ModelSpec& model);

/// Reads swiglu_clamp_exp and swiglu_clamp_shexp, a number per layer: limits of activated gates and
/// of the values they multiply, in experts and in other feed-forwards. 0 means none.
void read_gate_limits(const Keys& keys, ModelSpec& model);

/// Like read_gate_limits, but limits gates before activation. Without swiglu_clamp_shexp, the
/// experts' limit applies to all.
void read_early_gate_limits(const Keys& keys, ModelSpec& model);

/// Reads attention.kv_lora_rank and related keys: makes all attention latent. Files with
/// attention.key_length_mla hold separate matrices per head, older ones fused matrices. If YaRN's
/// magnitude multiplies scores (yarn_log_multiplier) instead of sines, it enters the scale.
void read_latent_attention(const Keys& keys, ModelSpec& model);

/// Reads attention.clamp_kqv: clamps queries, keys and values; 0 or negative means none.
void read_qkv_clamp(const Keys& keys, ModelSpec& model);

/// Reads attention.temperature_scale and .temperature_length (default:
/// rope.scaling.original_context_length): queries grow with their position.
void read_query_scale(const Keys& keys, ModelSpec& model);

/// Reads hyper_connection.count, .epsilon and .sinkhorn_iterations: residual streams that are mixed
/// around each block (mHC).
void read_mixed_streams(const Keys& keys, ModelSpec& model);

/// Sets GPT-2's feed-forward: no gate, biases, GELU by tanh unless read_activation() finds another.
///   fallback  the activation if the file names none
void set_plain_gelu(const Keys& keys, LayerSpec& layer,
                    uint32_t fallback = TENON_ACTIVATION_GELU_TANH);

/// Reads pooling_type and makes the model an encoder, whose tokens all see each other.
void make_encoder(const Keys& keys, uint32_t fallback, ModelSpec& model);

/// Reads nextn_predict_layers: the file's last blocks predict further tokens and are left out. They
/// are of the trunk's kind.
void drop_prediction_layers(const Keys& keys, ModelSpec& model);
/// Like drop_prediction_layers, for blocks that differ from the trunk: keeps their specifications
/// in PredictionSpec::layers. Call after all keys per layer are read.
void part_prediction_layers(const Keys& keys, ModelSpec& model);

/// Adds the expert used by all tokens. Its width is "expert_shared_feed_forward_length", or that of
/// "expert_shared_count" experts.
void read_shared_expert(const Keys& keys, ModelSpec& model);

}  // namespace tenon
