// Kimi K3, its text model (general.architecture "kimi-k3").
#include "arch/architecture.h"
#include "arch/blocks/attention_residual.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

DeltaSpec read_gated_kimi_delta(const Keys& keys, uint32_t heads, float epsilon) {
  DeltaSpec spec = read_kimi_delta(keys, heads, epsilon);
  spec.full_gate = true;
  spec.negative_rate = true;
  spec.lower_bound = static_cast<float>(keys.number_or("kda.gate_lower_bound", 0.0, -1e3, 0.0));
  return spec;
}

/// Moonshot AI 2026, arXiv 2607.24653: Kimi Linear's layers with gated latent attention, SiTU
/// instead of SwiGLU, experts in latent space, and attention residuals.
ModelSpec read_kimi_k3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  read_latent_attention(keys, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  const auto count = static_cast<uint32_t>(model.layers.size());
  const std::vector<uint32_t> heads =
      keys.counts("attention.head_count", count, 1, SpecLimits::kHeads);
  const auto limit = [&](const char* name, double low) {
    return static_cast<float>(keys.number(name, low, 1e6));
  };
  GateSpec gate;
  gate.situ = limit("activation.situ_beta", 1e-6);
  gate.situ_up = limit("activation.situ_linear_beta", 0.0);
  const uint32_t latent = keys.count_or("expert_latent_length", 0, 0, SpecLimits::kWidth);
  for (uint32_t i = 0; i < count; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.feed_forward.gate = layer.feed_forward.experts.gate = gate;
    if (ExpertSpec& experts = layer.feed_forward.experts; experts.count > 0) {
      experts.latent_width = latent;
      experts.latent_name = "ffn_routed";
      experts.latent_norm = Presence::Optional;
    }
    AttentionSpec& attention = layer.attention;
    attention.rope = {};
    if (attention.heads > 0) {
      attention.gate.columns = attention.heads * attention.value_dim;
    } else {
      set_delta_rule(keys, read_gated_kimi_delta(keys, heads[i], model.output_norm.epsilon), layer);
    }
  }
  model.specs.set(AttentionResidualSpec{keys.count("attn_res.block_size", 1, SpecLimits::kLayers)});
  return model;
}

constexpr int32_t kKimiK3Heads[] = {0, 0, 0, 1};
constexpr KeyValue kKimiK3Example[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kKimiK3Heads)},
    {"attention.key_length", 80u},
    {"attention.value_length", 64u},
    {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u},
    {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},
    {"rope.dimension_count", 16u},
    {"ssm.conv_kernel", 4u},
    {"kda.head_dim", 64u},
    {"kda.gate_lower_bound", -5.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 16u},
    {"expert_used_count", 4u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},
    {"expert_gating_func", 2u},
    {"expert_weights_norm", true},
    {"expert_latent_length", 128u},
    {"attn_res.block_size", 2u},
    {"activation.situ_beta", 4.0f},
    {"activation.situ_linear_beta", 25.0f}};

// The first layer reads only its input.
constexpr std::string_view kKimiK3Ignored[] = {"blk.0.attn_res_score.weight"};

}  // namespace

extern constexpr Architecture kKimiK3{.read = read_kimi_k3,
                                      .build = build_attention_residual_decoder,
                                      .example = kKimiK3Example,
                                      .ignored = kKimiK3Ignored};

}  // namespace tenon
