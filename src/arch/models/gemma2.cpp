// Gemma 2 (general.architecture "gemma2").
#include <cmath>

#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

constexpr size_t kLayersOfGemma2At27b = 46;

/// Rivière et al. 2024: norms before and after each block, every other layer with a window, capped
/// scores and logits.
ModelSpec read_gemma2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  read_windows(keys, 2, SeesAll::Last, model);
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  model.logit_soft_cap = keys.scale_or("final_logit_softcapping", 30.0);
  const float soft_cap = keys.scale_or("attn_logit_softcapping", 50.0);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
    layer.attention.soft_cap = soft_cap;
    if (model.layers.size() != kLayersOfGemma2At27b || keys.contains("attention.query_scalar")) {
      continue;
    }
    layer.attention.scale =
        1.0f / std::sqrt(static_cast<float>(model.width) / layer.attention.heads);
  }
  return model;
}

constexpr KeyValue kGemma2Example[] = {{"attention.sliding_window", 16u}};

constexpr FolderForm kGemma2Folder{.types = "gemma2",
                                   .classes = "Gemma2ForCausalLM",
                                   .keys =
                                       "vocab_size#embed_tokens\n"
                                       "num_key_value_heads!\nhead_dim!\nsliding_window!\n"
                                       "hidden_act~\n"
                                       "hidden_activation=gelu_pytorch_tanh\n"
                                       "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                       "attention_bias?layers.0.self_attn.q_proj.bias\n"
                                       "query_pre_attn_scalar$attention.query_scalar\n"
                                       "attn_logit_softcapping$attn_logit_softcapping\n"
                                       "final_logit_softcapping$final_logit_softcapping\n"
                                       "use_bidirectional_attention=false\n",
                                   .tensors = kGemmaNorms,
                                   .derive =
                                       [](FolderConfig& config) {
                                         read_window_layers(
                                             config, [](uint64_t layer) { return layer % 2 == 0; });
                                       },
                                   .theta = 10000.0};

}  // namespace

extern constexpr Architecture kGemma2{
    .read = read_gemma2, .example = kGemma2Example, .folder = &kGemma2Folder};

}  // namespace tenon
