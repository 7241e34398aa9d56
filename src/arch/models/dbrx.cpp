// DBRX (general.architecture "dbrx").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Databricks 2024, model card of DBRX: clamped queries, keys and values, experts in all layers.
ModelSpec read_dbrx(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::LayerUnbiased});
  read_qkv_clamp(keys, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.feed_forward_norm.name = "attn_output_norm";
  }
  return model;
}

constexpr KeyValue kDbrxExample[] = {
    {"attention.clamp_kqv", 1.5f}, {"expert_count", 8u}, {"expert_used_count", 3u}};

}  // namespace

extern constexpr Architecture kDbrx{.read = read_dbrx, .example = kDbrxExample};

}  // namespace tenon
