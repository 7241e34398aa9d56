// DeepSeek V2 and V3, Kimi K2 (general.architecture "deepseek2").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// DeepSeek-AI 2024, arXiv 2405.04434 and 2412.19437: latent attention; fine-grained experts, some
/// of them shared, selected by groups with a load-balancing bias. Youtu-LLM has only the latent
/// attention.
ModelSpec read_deepseek2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  drop_prediction_layers(keys, model);
  model.prediction.hands_on_normed = false;
  read_latent_attention(keys, model);
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {.normalised = false}, model);
    read_shared_expert(keys, model);
  }
  return model;
}

constexpr KeyValue kDeepSeek2Example[] = {
    {"attention.head_count_kv", 1u},     {"attention.key_length", 80u},
    {"attention.value_length", 64u},     {"attention.key_length_mla", 48u},
    {"attention.value_length_mla", 32u}, {"attention.kv_lora_rank", 64u},
    {"attention.q_lora_rank", 96u},      {"rope.dimension_count", 16u},
    {"leading_dense_block_count", 1u},   {"expert_count", 16u},
    {"expert_used_count", 4u},           {"expert_feed_forward_length", 256u},
    {"expert_shared_count", 1u},         {"expert_gating_func", 2u},
    {"expert_weights_norm", true},       {"expert_group_count", 4u},
    {"expert_group_used_count", 2u}};

/// Latent attention in its fused form. Pairs are neighbours here, in folders, too.
void read_deepseek2_folder(FolderConfig& config) {
  const uint64_t rotated = config.required_count("qk_rope_head_dim");
  const uint64_t plain = config.required_count("qk_nope_head_dim");
  const uint64_t key = config.count("qk_head_dim").value_or(rotated + plain);
  if (key != rotated + plain) {
    config.refuse(Code::Format, "qk_head_dim", "is {}, not {} + {}", key, plain, rotated);
  }
  // Configurations that were saved again have the rotated part here.
  if (const auto head = config.count("head_dim"); head && *head != rotated) {
    config.refuse(Code::Unsupported, "head_dim", "is {}, not the {} of qk_rope_head_dim", *head,
                  rotated);
  }
  config.put("attention.key_length", key);
  config.put("attention.value_length", config.required_count("v_head_dim"));
  config.put("rope.dimension_count", rotated);
  config.put("rope.halves", MetadataValue::of(false));
  config.put("expert_gating_func", uint64_t{2});
}

constexpr FolderForm kDeepSeek2Folder{
    .types = "deepseek_v3",
    .classes = "DeepseekV3ForCausalLM",
    .keys =
        "vocab_size#embed_tokens\n"
        "hidden_act=silu\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias=false\n"
        "q_lora_rank>attention.q_lora_rank\n"
        "kv_lora_rank!attention.kv_lora_rank\n"
        "n_routed_experts!expert_count\n"
        "num_experts_per_tok!expert_used_count\n"
        "n_shared_experts!expert_shared_count\n"
        "moe_intermediate_size!expert_feed_forward_length\n"
        "first_k_dense_replace!leading_dense_block_count\n"
        "routed_scaling_factor$expert_weights_scale\n"
        "norm_topk_prob!expert_weights_norm\n"
        "n_group!expert_group_count\n"
        "topk_group!expert_group_used_count\n"
        "scoring_func=sigmoid\n"
        "topk_method=noaux_tc\n"
        "moe_layer_freq=1\n"
        "ep_size~\n"
        "seq_aux~\n"
        "aux_loss_alpha~\n"
        "rope_interleave=true\n",
    .tensors =
        "layers.*.self_attn.q_a_proj blk.*.attn_q_a\n"
        "layers.*.self_attn.q_a_layernorm blk.*.attn_q_a_norm\n"
        "layers.*.self_attn.q_b_proj blk.*.attn_q_b\n"
        "layers.*.self_attn.kv_a_proj_with_mqa blk.*.attn_kv_a_mqa\n"
        "layers.*.self_attn.kv_a_layernorm blk.*.attn_kv_a_norm\n"
        "layers.*.self_attn.kv_b_proj blk.*.attn_kv_b\n"
        "layers.*.mlp.gate.e_score_correction_bias blk.*.exp_probs_b.bias\n"
        "layers.*.mlp.shared_experts.gate_proj blk.*.ffn_gate_shexp\n"
        "layers.*.mlp.shared_experts.up_proj blk.*.ffn_up_shexp\n"
        "layers.*.mlp.shared_experts.down_proj blk.*.ffn_down_shexp\n",
    .derive = read_deepseek2_folder,
    .theta = 10000.0};

}  // namespace

extern constexpr Architecture kDeepSeek2{
    .read = read_deepseek2, .example = kDeepSeek2Example, .folder = &kDeepSeek2Folder};

}  // namespace tenon
