// Phi-3 and Phi-4 (general.architecture "phi3").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Abdin et al. 2024: Llama with fused projections. Windows in these files are ignored, as in
/// llama.cpp: in training only some layers had a window, and the files do not say which.
ModelSpec read_phi3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .longrope = true});
  read_longrope(keys, model);
  // Folders say it.
  if (keys.is_list("attention.sliding_window_pattern")) read_window(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

/// The unused table.
constexpr std::string_view kPhi3Ignored[] = {"rope_factors_*.weight"};

constexpr FolderForm kPhi3Folder{.types = "phi3",
                                 .classes = "Phi3ForCausalLM",
                                 .keys =
                                     "vocab_size#embed_tokens\n"
                                     "hidden_act=silu\n"
                                     "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                     "attention_bias?layers.0.self_attn.qkv_proj.bias\n"
                                     "mlp_bias=false\nlm_head_bias=false\n"
                                     "full_attn_mod=1\ninterpolate_factor=1\n",
                                 .tensors =
                                     "layers.*.self_attn.qkv_proj blk.*.attn_qkv\n"
                                     "layers.*.mlp.gate_up_proj blk.*.ffn_up\n",
                                 .derive = read_windows_of_all,
                                 .theta = 10000.0};

}  // namespace

extern constexpr Architecture kPhi3{
    .read = read_phi3, .ignored = kPhi3Ignored, .folder = &kPhi3Folder};

}  // namespace tenon
