// SmolLM3 (general.architecture "smollm3").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Hugging Face 2025: Llama whose every fourth layer does not rotate ("NoPE", Yang et al. 2025).
ModelSpec read_smollm3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (size_t layer = 3; layer < model.layers.size(); layer += 4) {
    model.layers[layer].attention.rope = {};
  }
  return model;
}

/// Every fourth layer does not rotate.
void read_smollm3_folder(FolderConfig& config) {
  config.read_table("sliding_window=\nuse_sliding_window=false\n");
  read_windows_of_all(config);  // none
  const std::vector<double> rotates = config.numbers("no_rope_layers");
  for (size_t i = 0; i < rotates.size(); ++i) {
    if (rotates[i] == (i % 4 != 3 ? 1.0 : 0.0)) continue;
    config.refuse(Code::Unsupported, "no_rope_layers",
                  "has {} for layer {}; computed with 0 for "
                  "each fourth layer and 1 for others",
                  rotates[i], i);
  }
}

constexpr FolderForm kSmolLm3Folder{.types = "smollm3",
                                    .classes = "SmolLM3ForCausalLM",
                                    .keys =
                                        "vocab_size#embed_tokens\n"
                                        "num_key_value_heads!\n"
                                        "hidden_act=silu\n"
                                        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                        "attention_bias?layers.0.self_attn.q_proj.bias\n"
                                        "mlp_bias?layers.0.mlp.gate_proj.bias\n"
                                        "no_rope_layer_interval=4\n",
                                    .derive = read_smollm3_folder,
                                    .reorders_heads = true};

}  // namespace

extern constexpr Architecture kSmolLm3{.read = read_smollm3, .folder = &kSmolLm3Folder};

}  // namespace tenon
