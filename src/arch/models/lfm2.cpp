// LFM2, dense and with experts (general.architecture "lfm2", "lfm2moe").
#include "arch/architecture.h"
#include "arch/blocks/short_conv.h"
#include "arch/folder/folder_config.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Liquid AI 2025: short convolutions between two gates, and attention with normalised queries and
/// keys in some layers.
ModelSpec read_lfm2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .hybrid = true});
  model.output_norm.name = "token_embd_norm";
  const uint32_t taps = keys.count("shortconv.l_cache", 2, SpecLimits::kConvTaps);
  for (LayerSpec& layer : model.layers) {
    if (layer.attention.heads > 0) {
      layer.attention.qk_norm = QkNorm::EachHead;
    } else {
      const ShortConvSpec spec{.kernel = taps};
      check_state_values(keys, spec.state_values(model.width));
      layer.specs.set(spec);
    }
  }
  return model;
}

ModelSpec read_lfm2moe(const Keys& keys) {
  ModelSpec model = read_lfm2(keys);
  read_experts(keys, {.sigmoid = true}, model);
  return model;
}

constexpr int32_t kLfm2Heads[] = {0, 0, 2, 0};
constexpr KeyValue kLfm2Example[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kLfm2Heads)}, {"shortconv.l_cache", 3u}};

constexpr KeyValue kLfm2MoeExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kLfm2Heads)},
    {"shortconv.l_cache", 3u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u},
    {"leading_dense_block_count", 1u}};

/// The width of the feed-forward follows from four keys.
void read_lfm2_folder(FolderConfig& config) {
  read_attention_layers(config, " conv ", " full_attention ");
  uint64_t width = config.required_count("intermediate_size");
  if (config.flag("block_auto_adjust_ff_dim").value_or(true)) {
    const double factor = config.number("block_ffn_dim_multiplier").value_or(1.0);
    const uint64_t step = config.count("block_multiple_of").value_or(256);
    if (!(factor > 0.0 && factor < 100.0) || step == 0) {
      config.refuse(Code::Format, "block_multiple_of", "is {}, and the multiplier {}", step,
                    factor);
    }
    width = static_cast<uint64_t>(factor * static_cast<double>(2 * width / 3));
    width = (width + step - 1) / step * step;
  } else {
    config.read_table("block_ffn_dim_multiplier~\nblock_multiple_of~\n");
  }
  config.put("feed_forward_length", width);
}

constexpr FolderForm kLfm2Folder{
    .types = "lfm2",
    .classes = "Lfm2ForCausalLM",
    .keys =
        "vocab_size#embed_tokens\n"
        "norm_eps$attention.layer_norm_rms_epsilon\n"
        "conv_L_cache!shortconv.l_cache\n"
        "conv_bias=false\n"
        "full_attn_idxs=\n"
        "block_use_swiglu=true\n"
        "use_pos_enc=true\n"
        "block_mlp_init_scale~\nblock_out_init_scale~\nblock_use_xavier_init~\n"
        "conv_use_xavier_init~\n",
    .tensors =
        "embedding_norm token_embd_norm\n"
        "layers.*.operator_norm blk.*.attn_norm\n"
        "layers.*.ffn_norm blk.*.ffn_norm\n"
        "layers.*.conv.conv blk.*.shortconv.conv f\n"
        "layers.*.conv.in_proj blk.*.shortconv.in_proj\n"
        "layers.*.conv.out_proj blk.*.shortconv.out_proj\n"
        "layers.*.self_attn.q_layernorm blk.*.attn_q_norm\n"
        "layers.*.self_attn.k_layernorm blk.*.attn_k_norm\n"
        "layers.*.self_attn.out_proj blk.*.attn_output\n"
        "layers.*.feed_forward.w1 blk.*.ffn_gate\n"
        "layers.*.feed_forward.w2 blk.*.ffn_down\n"
        "layers.*.feed_forward.w3 blk.*.ffn_up\n",
    .derive = read_lfm2_folder,
    .theta = 1e6};

}  // namespace

extern constexpr Architecture kLfm2{
    .read = read_lfm2, .example = kLfm2Example, .folder = &kLfm2Folder};
extern constexpr Architecture kLfm2Moe{.read = read_lfm2moe, .example = kLfm2MoeExample};

}  // namespace tenon
