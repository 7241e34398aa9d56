// Granite 4 (general.architecture "granitehybrid").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// IBM 2025: Granite's multipliers and experts, with layers of Mamba 2 and a few of attention.
ModelSpec read_granitehybrid(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  read_multipliers(keys, {}, model);
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {}, model);
    read_shared_expert(keys, model);
  }
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  const bool positions = keys.flag("rope.scaling.finetuned").value_or(true);
  for (LayerSpec& layer : model.layers) {
    if (layer.attention.heads == 0) set_state_space(keys, spec, layer);
    if (!positions) layer.attention.rope = {};
  }
  return model;
}

constexpr int32_t kGraniteHybridHeads[] = {0, 0, 2, 0};
constexpr KeyValue kGraniteHybridExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kGraniteHybridHeads)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},
    {"ssm.group_count", 2u},
    {"embedding_scale", 12.0f},
    {"residual_scale", 0.35f},
    {"attention.scale", 0.11f},
    {"logit_scale", 4.0f}};

void read_granitehybrid_folder(FolderConfig& config) {
  read_state_space_config(config, "mamba_n_heads", "mamba_d_head", "mamba_expand");
  read_attention_layers(config, " mamba linear_attention ", " attention full_attention ");
  const std::string_view positions = config.text("position_embedding_type");
  if (positions != "nope" && positions != "rope") {
    config.refuse(Code::Unsupported, "position_embedding_type", "is {}; computed are nope and rope",
                  quoted(positions));
  }
  config.put("rope.scaling.finetuned", MetadataValue::of(positions == "rope"));
}

constexpr FolderForm kGraniteHybridFolder{
    .types = "granitemoehybrid",
    .classes = "GraniteMoeHybridForCausalLM",
    .keys =
        "vocab_size#embed_tokens\n"
        "hidden_act=silu\n"
        "normalization_function=rmsnorm\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias=false\n"
        "attention_multiplier$attention.scale\n"
        "embedding_multiplier$embedding_scale\n"
        "residual_multiplier$residual_scale\n"
        "logits_scaling$logit_scale\n"
        "num_local_experts!expert_count\n"
        "num_experts_per_tok!expert_used_count\n"
        "shared_intermediate_size!expert_shared_feed_forward_length\n"
        "mamba_d_conv!ssm.conv_kernel\n"
        "mamba_d_state!ssm.state_size\n"
        "mamba_n_groups!ssm.group_count\n"
        "mamba_conv_bias=true\n"
        "mamba_proj_bias=false\n"
        "mamba_chunk_size~\n",
    .tensors =
        "layers.*.block_sparse_moe.input_linear blk.*.ffn_gate_up_exps\n"
        "layers.*.block_sparse_moe.output_linear blk.*.ffn_down_exps\n"
        "layers.*.block_sparse_moe.router.layer blk.*.ffn_gate_inp\n"
        "layers.*.shared_mlp.input_linear blk.*.ffn_gate_shexp 0\n"
        "layers.*.shared_mlp.input_linear blk.*.ffn_up_shexp 1\n"
        "layers.*.shared_mlp.output_linear blk.*.ffn_down_shexp\n"
        "layers.*.mamba.in_proj blk.*.ssm_in\n"
        "layers.*.mamba.conv1d blk.*.ssm_conv1d f\n"
        "layers.*.mamba.dt_bias blk.*.ssm_dt.bias\n"
        "layers.*.mamba.A_log blk.*.ssm_a nc\n"
        "layers.*.mamba.D blk.*.ssm_d c\n"
        "layers.*.mamba.norm blk.*.ssm_norm g\n"
        "layers.*.mamba.out_proj blk.*.ssm_out\n",
    .derive = read_granitehybrid_folder,
    .theta = 10000.0,
    .reorders_heads = true};

}  // namespace

extern constexpr Architecture kGraniteHybrid{
    .read = read_granitehybrid, .example = kGraniteHybridExample, .folder = &kGraniteHybridFolder};

}  // namespace tenon
