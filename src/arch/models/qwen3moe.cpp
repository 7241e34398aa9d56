// Qwen3 with experts (general.architecture "qwen3moe").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Yang et al. 2025: Qwen3 with a mixture of experts in every layer, none of them shared.
ModelSpec read_qwen3moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

constexpr KeyValue kQwen3MoeExample[] = {
    {"expert_count", 8u}, {"expert_used_count", 2u}, {"expert_feed_forward_length", 256u}};

/// All layers have the window, or none.
void read_qwen3moe_folder(FolderConfig& config) {
  config.read_table("max_window_layers~\n");
  const auto window = config.count("sliding_window");
  if (!config.flag("use_sliding_window").value_or(false)) return;
  if (!window) config.refuse(Code::Format, "sliding_window", "is missing");
  config.put("attention.sliding_window", *window);
}

constexpr FolderForm kQwen3MoeFolder{.types = "qwen3_moe",
                                     .classes = "Qwen3MoeForCausalLM",
                                     .keys =
                                         "vocab_size#embed_tokens\n"
                                         "num_key_value_heads!\nhead_dim!\n"
                                         "hidden_act=silu\n"
                                         "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                         "attention_bias?layers.0.self_attn.q_proj.bias\n"
                                         "num_experts>expert_count\n"
                                         "num_local_experts>expert_count\n"
                                         "num_experts_per_tok!expert_used_count\n"
                                         "moe_intermediate_size!expert_feed_forward_length\n"
                                         "norm_topk_prob!expert_weights_norm\n"
                                         "decoder_sparse_step=1\n"
                                         "mlp_only_layers=[]\n",
                                     .derive = read_qwen3moe_folder};

}  // namespace

extern constexpr Architecture kQwen3Moe{
    .read = read_qwen3moe, .example = kQwen3MoeExample, .folder = &kQwen3MoeFolder};

}  // namespace tenon
