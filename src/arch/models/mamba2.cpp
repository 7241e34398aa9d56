// Mamba 2 (general.architecture "mamba2").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Dao and Gu 2024, arXiv 2405.21060: a decay per head, all inputs of the scan from one matrix.
ModelSpec read_mamba2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  for (LayerSpec& layer : model.layers) set_state_space(keys, spec, layer);
  return model;
}

constexpr KeyValue kMamba2Example[] = {
    {"attention.head_count", 0u}, {"attention.head_count_kv", 0u}, {"feed_forward_length", 0u},
    {"ssm.conv_kernel", 4u},      {"ssm.inner_size", 512u},        {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},   {"ssm.group_count", 2u}};

/// Sizes that follow from others, and a limit of time steps that limits nothing.
void read_mamba2_folder(FolderConfig& config) {
  config.put("attention.head_count", uint64_t{0});
  config.put("attention.head_count_kv", uint64_t{0});
  config.put("feed_forward_length", uint64_t{0});
  config.put("context_length", uint64_t{1} << 20);
  read_state_space_config(config, "num_heads", "head_dim", "expand");
}

constexpr FolderForm kMamba2Folder{
    .types = "mamba2",
    .classes = "Mamba2ForCausalLM",
    .keys =
        "vocab_size#embeddings\n"
        "hidden_size!embedding_length\n"
        "num_hidden_layers!block_count\n"
        "layer_norm_epsilon$attention.layer_norm_rms_epsilon\n"
        "conv_kernel!ssm.conv_kernel\n"
        "state_size!ssm.state_size\n"
        "n_groups!ssm.group_count\n"
        "hidden_act=silu\n"
        "use_bias=false\n"
        "norm_before_gate=false\n"
        "rms_norm=true\n"
        "use_conv_bias?layers.0.mixer.conv1d.bias\n"
        "chunk_size~\nresidual_in_fp32~\nrescale_prenorm_residual~\ntime_step_floor~\n"
        "time_step_max~\ntime_step_min~\ntime_step_rank~\n",
    .tensors =
        "embeddings token_embd\n"
        "norm_f output_norm\n"
        "lm_head output\n"
        "layers.*.norm blk.*.attn_norm\n"
        "layers.*.mixer.in_proj blk.*.ssm_in\n"
        "layers.*.mixer.conv1d blk.*.ssm_conv1d f\n"
        "layers.*.mixer.dt_bias blk.*.ssm_dt.bias\n"
        "layers.*.mixer.A_log blk.*.ssm_a nc\n"
        "layers.*.mixer.D blk.*.ssm_d c\n"
        "layers.*.mixer.norm blk.*.ssm_norm g\n"
        "layers.*.mixer.out_proj blk.*.ssm_out\n",
    .derive = read_mamba2_folder,
    .decoder = false};

}  // namespace

extern constexpr Architecture kMamba2{
    .read = read_mamba2, .example = kMamba2Example, .folder = &kMamba2Folder};

}  // namespace tenon
