// Qwen3, dense (general.architecture "qwen3").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Yang et al. 2025: no biases, an RMS norm on every query and key head before the rotation.
ModelSpec read_qwen3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

constexpr FolderForm kQwen3Folder{.types = "qwen3",
                                  .classes = "Qwen3ForCausalLM",
                                  .keys =
                                      "vocab_size#embed_tokens\n"
                                      "num_key_value_heads!\nhead_dim!\n"
                                      "hidden_act=silu\n"
                                      "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                      "attention_bias?layers.0.self_attn.q_proj.bias\n",
                                  .derive = read_windows_of_qwen};

}  // namespace

extern constexpr Architecture kQwen3{.read = read_qwen3, .folder = &kQwen3Folder};

}  // namespace tenon
