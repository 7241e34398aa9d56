// Qwen2 and Qwen2.5 (general.architecture "qwen2"); the text side of Qwen2-VL and Qwen2.5-VL
// ("qwen2vl").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Yang et al. 2024: biases on queries, keys and values; rotated pairs are half a head apart.
ModelSpec read_qwen2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  model.output_bias = Presence::Optional;
  for (LayerSpec& layer : model.layers) layer.attention.qkv_bias = Presence::Required;
  return model;
}

constexpr FolderForm kQwen2Folder{.types = "qwen2",
                                  .classes = "Qwen2ForCausalLM",
                                  .keys =
                                      "vocab_size#embed_tokens\n"
                                      "num_key_value_heads!\n"
                                      "hidden_act=silu\n"
                                      "rms_norm_eps$attention.layer_norm_rms_epsilon\n",
                                  .derive = read_windows_of_qwen,
                                  .theta = 10000.0};

}  // namespace

extern constexpr Architecture kQwen2{.read = read_qwen2, .folder = &kQwen2Folder};

/// Wang et al. 2024, arXiv 2409.12191, section 2.1: in a text the three parts of a position are
/// equal, so the rotation is Qwen2's.
extern constexpr Architecture kQwen2Vl{.read = read_qwen2};

}  // namespace tenon
