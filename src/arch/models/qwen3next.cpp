// Qwen3-Next, Qwen3.5 and Qwen3.5 with experts (general.architecture "qwen3next", "qwen35",
// "qwen35moe").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Qwen Team 2025: groups of three layers of the gated delta rule and a layer of gated attention.
ModelSpec read_hybrid(const Keys& keys, bool interleaved, bool fused_rates) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  drop_prediction_layers(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.attention.output_gate = true;
    if (layer.attention.value_dim != layer.attention.key_dim) {
      keys.refuse(Code::Format, "attention.value_length", "is {}, but gates have the {} of \"{}\"",
                  layer.attention.value_dim, layer.attention.key_dim,
                  keys.key("attention.key_length"));
    }
    layer.feed_forward_norm.name = "post_attention_norm";
  }
  read_gated_delta_net(keys, interleaved, fused_rates, model);
  return model;
}

/// Adds experts and a shared one with a gate.
void add_gated_experts(const Keys& keys, ModelSpec& model) {
  read_experts(keys, {}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.experts.shared_gate = true;
  }
}

ModelSpec read_qwen3next(const Keys& keys) {
  ModelSpec model = read_hybrid(keys, false, true);
  add_gated_experts(keys, model);
  return model;
}

ModelSpec read_qwen35(const Keys& keys) { return read_hybrid(keys, true, false); }

ModelSpec read_qwen35moe(const Keys& keys) {
  ModelSpec model = read_hybrid(keys, true, false);
  add_gated_experts(keys, model);
  return model;
}

constexpr KeyValue kQwen35Example[] = {{"block_count", 4u},     {"rope.dimension_count", 32u},
                                       {"ssm.conv_kernel", 4u}, {"ssm.inner_size", 256u},
                                       {"ssm.state_size", 64u}, {"ssm.time_step_rank", 4u},
                                       {"ssm.group_count", 2u}, {"full_attention_interval", 4u}};
constexpr KeyValue kQwen35MoeExample[] = {{"block_count", 4u},
                                          {"rope.dimension_count", 32u},
                                          {"ssm.conv_kernel", 4u},
                                          {"ssm.inner_size", 256u},
                                          {"ssm.state_size", 64u},
                                          {"ssm.time_step_rank", 4u},
                                          {"ssm.group_count", 2u},
                                          {"full_attention_interval", 4u},
                                          {"expert_count", 8u},
                                          {"expert_used_count", 2u},
                                          {"expert_feed_forward_length", 256u},
                                          {"expert_shared_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kQwen3Next{.read = read_qwen3next, .example = kQwen35MoeExample};
extern constexpr Architecture kQwen35{.read = read_qwen35, .example = kQwen35Example};
extern constexpr Architecture kQwen35Moe{.read = read_qwen35moe, .example = kQwen35MoeExample};

}  // namespace tenon
