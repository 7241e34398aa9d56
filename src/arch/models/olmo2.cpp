// OLMo 2 and 3 (general.architecture "olmo2").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Walsh et al. 2024: norms after the blocks instead of before them, and over whole rows of queries
/// and keys. OLMo 3 has windows in three of four layers, and YaRN in the fourth.
ModelSpec read_olmo2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  read_windows(keys, 4, SeesAll::Last, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention_norm = {};
    layer.feed_forward_norm = {};
    layer.attention.qk_norm = QkNorm::WholeRow;
    if (layer.attention.window > 0) layer.attention.rope = layer.attention.rope.unscaled();
  }
  return model;
}

constexpr KeyValue kOlmo2Example[] = {{"attention.sliding_window", 16u}};

constexpr FolderForm kOlmo2Folder{
    .types = "olmo2",
    .classes = "Olmo2ForCausalLM",
    .keys =
        "vocab_size#embed_tokens\n"
        "hidden_act=silu\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias?layers.0.self_attn.q_proj.bias\n",
    .tensors =
        "layers.*.post_attention_layernorm blk.*.post_attention_norm\n"
        "layers.*.post_feedforward_layernorm blk.*.post_ffw_norm\n"};

}  // namespace

extern constexpr Architecture kOlmo2{
    .read = read_olmo2, .example = kOlmo2Example, .folder = &kOlmo2Folder};

}  // namespace tenon
