// PLM (general.architecture "plm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Deng et al. 2025, arXiv 2503.12167: latent attention without a latent query, squared ReLU
/// instead of gates.
ModelSpec read_plm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_latent_attention(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.kind = FeedForwardKind::Plain;
    layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
  }
  return model;
}

constexpr KeyValue kPlmExample[] = {{"attention.key_length", 48u},
                                    {"attention.value_length", 32u},
                                    {"attention.kv_lora_rank", 64u},
                                    {"rope.dimension_count", 16u}};

}  // namespace

extern constexpr Architecture kPlm{.read = read_plm, .example = kPlmExample};

}  // namespace tenon
