// Muse Glimmer, its text model (general.architecture "muse-glimmer").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Epsilon of the norms after the blocks, without a key.
constexpr float kMuseGlimmerPostEpsilon = 1e-8f;

/// Meta 2026 (as in models/muse_glimmer of `transformers`): embeddings normalised without a weight,
/// norms before and after the blocks, a window and positions in three of four layers, a gate on the
/// attended values.
ModelSpec read_muse_glimmer(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  add_post_norms(model);
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 4, SeesAll::Last, model);
  read_window_rope(keys, model);
  model.embedding_norm = {"token_embd_norm", NormKind::RmsUnweighted, model.output_norm.epsilon};
  model.logit_scale = keys.scale_or("logit_scale", 1.0);
  model.logit_soft_cap = keys.scale_or("final_logit_softcapping", 0.0);
  for (LayerSpec& layer : model.layers) {
    layer.attention_post_norm.epsilon = kMuseGlimmerPostEpsilon;
    layer.feed_forward_post_norm.epsilon = kMuseGlimmerPostEpsilon;
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.gate.columns = attention.heads * attention.value_dim;
    if (attention.window == 0) attention.rope = {};
  }
  return model;
}

constexpr KeyValue kMuseGlimmerExample[] = {
    {"attention.sliding_window", 16u}, {"logit_scale", 0.25f}, {"final_logit_softcapping", 20.0f}};

}  // namespace

extern constexpr Architecture kMuseGlimmer{.read = read_muse_glimmer,
                                           .example = kMuseGlimmerExample};

}  // namespace tenon
