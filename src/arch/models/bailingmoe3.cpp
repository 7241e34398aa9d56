// Ling 3 (general.architecture "bailingmoe3").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Ling Team 2026 (as in models/bailing_hybrid of `transformers`): groups of layers of Kimi Delta
/// Attention (arXiv 2510.26692), with matrices of full rank and a lower bound of the decay, and a
/// layer of latent attention with a gate per head; experts selected by groups and sigmoids.
ModelSpec read_bailingmoe3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  const auto blocks = static_cast<uint32_t>(model.layers.size());
  read_latent_attention(keys, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  read_gate_limits(keys, model);
  if (!keys.flag("kda.safe_gate").value_or(true)) {
    keys.refuse(Code::Unsupported, "kda.safe_gate", "is false; decays have a lower bound here");
  }
  const std::vector<uint32_t> heads =
      keys.counts("attention.head_count", blocks, 1, SpecLimits::kHeads);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    if (layer.attention.heads > 0) {
      layer.attention.gate.columns = layer.attention.heads;
      continue;
    }
    DeltaSpec spec = read_kimi_delta(keys, heads[i], model.output_norm.epsilon);
    spec.full_rank = true;
    spec.lower_bound = static_cast<float>(keys.number("kda.gate_lower_bound", -1e3, -1e-6));
    set_delta_rule(keys, spec, layer);
  }
  part_prediction_layers(keys, model);
  return model;
}

constexpr int32_t kBailingMoe3Heads[] = {0, 0, 0, 1};
constexpr KeyValue kBailingMoe3Example[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kBailingMoe3Heads)},
    {"attention.key_length", 80u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"rope.dimension_count", 16u},
    {"attention.kv_lora_rank", 64u},
    {"ssm.conv_kernel", 4u},
    {"kda.head_dim", 64u},
    {"kda.gate_lower_bound", -5.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 16u},
    {"expert_used_count", 4u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_group_count", 4u},
    {"expert_group_used_count", 2u},
    {"expert_gating_func", 2u}};

}  // namespace

extern constexpr Architecture kBailingMoe3{.read = read_bailingmoe3,
                                           .example = kBailingMoe3Example};

}  // namespace tenon
