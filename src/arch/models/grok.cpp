// Grok-1 and Grok-2 (general.architecture "grok").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// xAI 2024, github.com/xai-org/grok-1: post-norms, capped scores, experts with the weights of the
/// softmax over all. Files without the keys are of Grok-1.
ModelSpec read_grok(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.normalised = false}, model);
  model.embedding_scale = keys.scale_or("embedding_scale", std::sqrt(6144.0));
  model.logit_scale = keys.scale_or("logit_scale", 1.0 / std::sqrt(3.0));
  const auto cap = [&keys](const char* name, double fallback) {
    return static_cast<float>(keys.number_or(name, fallback, 0.0, 1e6));
  };
  model.logit_soft_cap = cap("final_logit_softcapping", 0.0);
  const uint32_t length =
      keys.count_or("attention.temperature_length", 0, 0, SpecLimits::kPositions);
  if (length > 0 && length < model.trained_context) {
    keys.refuse(Code::Unsupported, "attention.temperature_length",
                "is {}: capped scores that grow from that position on have no operation here; a "
                "\"{}\" of {} or less does without",
                length, keys.key("context_length"), length);
  }
  const NormSpec norm = model.output_norm;
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    attention.scale = keys.scale_or("attention.output_scale", attention.scale);
    attention.soft_cap = cap("attn_logit_softcapping", 30.0);
    RopeSpec& rope = attention.rope;
    if (!keys.contains("rope.scaling.yarn_beta_fast")) rope.beta_fast = 8.0;
    rope.magnitude *= keys.number_or("rope.scaling.yarn_attn_factor", 1.0, 1e-6, 1e3);
    layer.attention_post_norm = {"attn_output_norm", norm.kind, norm.epsilon};
    layer.feed_forward_post_norm = {"layer_output_norm", norm.kind, norm.epsilon};
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
    layer.feed_forward.experts.router_soft_cap = cap("router_logit_softcapping", 0.0);
  }
  return model;
}

/// Grok-2 also has a dense feed-forward, and another name for its last norm.
void adapt_grok(const ModelFile& file, ModelSpec& model) {
  for (LayerSpec& layer : model.layers) {
    if (file.find("blk.0.layer_output_norm.weight") == nullptr) {
      layer.feed_forward_post_norm.name = "post_ffw_norm";
    }
    if (file.find("blk.0.ffn_up.weight") != nullptr) {
      layer.feed_forward.experts.dense_beside = std::sqrt(0.5f);
    }
  }
}

constexpr KeyValue kGrokExample[] = {{"embedding_scale", 2.0f},
                                     {"router_logit_softcapping", 2.0f},
                                     {"final_logit_softcapping", 50.0f},
                                     {"expert_count", 8u},
                                     {"expert_used_count", 2u}};

}  // namespace

extern constexpr Architecture kGrok{
    .read = read_grok, .adapt = adapt_grok, .example = kGrokExample};

}  // namespace tenon
