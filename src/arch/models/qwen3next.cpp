// Qwen3-Next, Qwen3.5 and Qwen3.5 with experts (general.architecture "qwen3next", "qwen35",
// "qwen35moe").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"
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

/// Folders keep the value heads of a key head together.
ModelSpec read_qwen35(const Keys& keys) {
  return read_hybrid(keys, !keys.flag("ssm.heads_in_groups").value_or(false), false);
}

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

void read_qwen35_folder(FolderConfig& config) {
  // A quarter, unless they say otherwise.
  const auto rope = config.object("rope_parameters");
  if (!config.has("partial_rotary_factor") && !(rope && rope->contains("partial_rotary_factor"))) {
    config.refuse(Code::Format, "partial_rotary_factor", "is missing");
  }
  const uint64_t heads = config.required_count("linear_num_value_heads");
  config.put("ssm.time_step_rank", heads);
  config.put("ssm.inner_size", heads * config.required_count("linear_value_head_dim"));
  config.put("ssm.heads_in_groups", MetadataValue::of(true));
  const uint64_t period = config.count("full_attention_interval").value_or(4);
  config.put("full_attention_interval", period);
  const JsonNode* types = config.take("layer_types");
  for (size_t i = 0; types != nullptr && period != 0 && i < types->items.size(); ++i) {
    const std::string_view wanted = (i + 1) % period == 0 ? "full_attention" : "linear_attention";
    if (types->items[i].text == wanted) continue;
    config.refuse(Code::Unsupported, "layer_types", "has {} for layer {}, where {} is computed",
                  json_text(types->items[i]), i, wanted);
  }
}

constexpr FolderForm kQwen35Folder{
    .types = "qwen3_5_text",
    .classes = "Qwen3_5ForCausalLM Qwen3_5ForConditionalGeneration",
    .wrappers = "qwen3_5",
    .keys =
        "vocab_size#embed_tokens\n"
        "num_key_value_heads!\nhead_dim!\n"
        "hidden_act=silu\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias=false\n"
        "attn_output_gate=true\n"
        "linear_conv_kernel_dim!ssm.conv_kernel\n"
        "linear_key_head_dim!ssm.state_size\n"
        "linear_num_key_heads!ssm.group_count\n"
        "mamba_ssm_dtype~\nmtp_num_hidden_layers~\nmtp_use_dedicated_embeddings~\n",
    .tensors =
        "mtp -\n"
        "visual -\n"
        "norm output_norm +\n"
        "layers.*.input_layernorm blk.*.attn_norm +\n"
        "layers.*.post_attention_layernorm blk.*.post_attention_norm +\n"
        "layers.*.self_attn.q_norm blk.*.attn_q_norm +\n"
        "layers.*.self_attn.k_norm blk.*.attn_k_norm +\n"
        "layers.*.linear_attn.in_proj_qkv blk.*.attn_qkv\n"
        "layers.*.linear_attn.in_proj_z blk.*.attn_gate\n"
        "layers.*.linear_attn.in_proj_a blk.*.ssm_alpha\n"
        "layers.*.linear_attn.in_proj_b blk.*.ssm_beta\n"
        "layers.*.linear_attn.conv1d blk.*.ssm_conv1d f\n"
        "layers.*.linear_attn.dt_bias blk.*.ssm_dt.bias\n"
        "layers.*.linear_attn.A_log blk.*.ssm_a n\n"
        "layers.*.linear_attn.norm blk.*.ssm_norm\n"
        "layers.*.linear_attn.out_proj blk.*.ssm_out\n",
    .derive = read_qwen35_folder};

}  // namespace

extern constexpr Architecture kQwen3Next{.read = read_qwen3next, .example = kQwen35MoeExample};
extern constexpr Architecture kQwen35{
    .read = read_qwen35, .example = kQwen35Example, .folder = &kQwen35Folder};
extern constexpr Architecture kQwen35Moe{.read = read_qwen35moe, .example = kQwen35MoeExample};

}  // namespace tenon
