// gpt-oss (general.architecture "gpt-oss").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// OpenAI 2025, arXiv 2508.10925: a window in every other layer, a sink per head, biases
/// everywhere, experts with a clamped SwiGLU whose SiLU is x sigmoid(1.702 x).
ModelSpec read_gpt_oss(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 2, SeesAll::Last, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    layer.attention.sinks = Presence::Required;
    layer.feed_forward_norm.name = "post_attention_norm";
    layer.feed_forward.experts.gate = {.alpha = 1.702f, .limit = 7.0f, .up_offset = 1.0f};
    layer.feed_forward.experts.bias = Presence::Required;
  }
  return model;
}

constexpr KeyValue kGptOssExample[] = {{"attention.sliding_window", 16u},
                                       {"expert_count", 8u},
                                       {"expert_used_count", 3u},
                                       {"expert_feed_forward_length", 256u}};

constexpr FolderForm kGptOssFolder{
    .types = "gpt_oss",
    .classes = "GptOssForCausalLM",
    .keys =
        "vocab_size#embed_tokens\n"
        "num_key_value_heads!\nhead_dim!\nsliding_window!\n"
        "hidden_act=silu\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias=true\n"
        "num_local_experts!expert_count\n"
        "num_experts_per_tok!expert_used_count\n"
        "experts_per_token~\n"
        "initial_context_length~\n"
        "swiglu_alpha=1.702\n"
        "swiglu_limit=7\n",
    .tensors =
        "layers.*.self_attn.sinks blk.*.attn_sinks.weight\n"
        "layers.*.post_attention_layernorm blk.*.post_attention_norm\n"
        "layers.*.mlp.router blk.*.ffn_gate_inp\n"
        "layers.*.mlp.experts.gate_up_proj_bias blk.*.ffn_gate_exps.bias e\n"
        "layers.*.mlp.experts.gate_up_proj_bias blk.*.ffn_up_exps.bias o\n"
        "layers.*.mlp.experts.down_proj_bias blk.*.ffn_down_exps.bias f\n"
        "layers.*.mlp.experts.gate_up_proj blk.*.ffn_gate_exps.weight te\n"
        "layers.*.mlp.experts.gate_up_proj blk.*.ffn_up_exps.weight to\n"
        "layers.*.mlp.experts.down_proj blk.*.ffn_down_exps.weight t\n",
    .derive =
        [](FolderConfig& config) {
          read_window_layers(config, [](uint64_t layer) { return layer % 2 == 0; });
        },
    .theta = 150000.0};

}  // namespace

extern constexpr Architecture kGptOss{
    .read = read_gpt_oss, .example = kGptOssExample, .folder = &kGptOssFolder};

}  // namespace tenon
