// StarCoder 2 (general.architecture "starcoder2").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// BigCode 2024, arXiv 2402.19173: layer norms and biases everywhere, a feed-forward with GELU.
ModelSpec read_starcoder2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  read_window(keys, model);
  for (LayerSpec& layer : model.layers) {
    set_plain_gelu(keys, layer);
  }
  return model;
}

constexpr FolderForm kStarCoder2Folder{.types = "starcoder2",
                                       .classes = "Starcoder2ForCausalLM",
                                       .keys =
                                           "vocab_size#embed_tokens\n"
                                           "num_key_value_heads!\n"
                                           "hidden_act!hidden_act\n"
                                           "norm_epsilon$attention.layer_norm_epsilon\n"
                                           "use_bias=true\n",
                                       .tensors =
                                           "layers.*.mlp.c_fc blk.*.ffn_up\n"
                                           "layers.*.mlp.c_proj blk.*.ffn_down\n",
                                       .derive = read_windows_of_all,
                                       .theta = 10000.0};

}  // namespace

extern constexpr Architecture kStarCoder2{.read = read_starcoder2, .folder = &kStarCoder2Folder};

}  // namespace tenon
