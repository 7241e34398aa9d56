// ModernBERT (general.architecture "modern-bert").
#include "arch/architecture.h"
#include "arch/folder/folder_config.h"
#include "arch/keys/activation_key.h"

namespace tenon {
namespace {

/// Warner et al. 2024, arXiv 2412.13663: norms before the blocks except the first, windows in two
/// of three layers, GeGLU.
ModelSpec read_modern_bert(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::LayerUnbiased});
  const NormSpec norm = model.output_norm;
  model.embedding_norm = {"token_embd_norm", norm.kind, norm.epsilon};
  make_encoder(keys, TENON_POOL_MEAN, model);
  model.classifier.activation = TENON_ACTIVATION_GELU_ERF;
  model.classifier.pooling = TENON_POOL_MEAN;
  (void)keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  read_windows(keys, 3, SeesAll::First, model);
  const double window_theta = keys.number_or("rope.freq_base_swa", 10000.0, 2.0, 1e15);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    if (i == 0) layer.attention_norm = {};
    layer.attention.fused_qkv = true;
    layer.feed_forward.fused_gate_up = true;
    layer.feed_forward.activation = read_activation(keys, TENON_ACTIVATION_GELU_TANH, true);
    if (layer.attention.window == 0) continue;
    layer.attention.rope = layer.attention.rope.unscaled();
    layer.attention.rope.theta = window_theta;
  }
  return model;
}

constexpr KeyValue kModernBertExample[] = {{"attention.sliding_window", 16u}};

/// Keys of older versions beside the ropes, and the layers without a window.
void read_modern_bert_folder(FolderConfig& config) {
  if (const auto theta = config.number("global_rope_theta")) config.put("rope.freq_base", *theta);
  if (const auto theta = config.number("local_rope_theta"))
    config.put("rope.freq_base_swa", *theta);
  const uint64_t period = config.required_count("global_attn_every_n_layers");
  config.put("attention.sliding_window_pattern", period);
  const JsonNode* types = config.take("layer_types");
  for (size_t i = 0; types != nullptr && period != 0 && i < types->items.size(); ++i) {
    const bool is_full = types->items[i].text == "full_attention";
    if (is_full == (i % period == 0) && (is_full || types->items[i].text == "sliding_attention")) {
      continue;
    }
    config.refuse(Code::Unsupported, "layer_types", "has {} for layer {}, against {} of {}",
                  json_text(types->items[i]), i, period, "global_attn_every_n_layers");
  }
}

constexpr FolderForm kModernBertFolder{
    .types = "modernbert",
    .classes = "ModernBertModel",
    .keys =
        "vocab_size#embeddings.tok_embeddings\n"
        "hidden_activation!hidden_activation\n"
        "norm_eps$attention.layer_norm_epsilon\n"
        "local_attention!attention.sliding_window\n"
        "norm_bias=false\n"
        "attention_bias=false\n"
        "mlp_bias=false\n"
        "position_embedding_type=absolute|sans_pos\n"
        "decoder_bias~\nclassifier_activation~\nclassifier_bias~\nclassifier_pooling~\n"
        "deterministic_flash_attn~\nsparse_pred_ignore_index~\nsparse_prediction~\n"
        "repad_logits_with_grad~\nreference_compile~\ninitializer_cutoff_factor~\n"
        "mlp_dropout~\ncls_token_id~\nsep_token_id~\n",
    .tensors =
        "embeddings.tok_embeddings token_embd\n"
        "embeddings.norm token_embd_norm\n"
        "final_norm output_norm\n"
        "layers.*.attn.Wqkv blk.*.attn_qkv\n"
        "layers.*.attn.Wo blk.*.attn_output\n"
        "layers.*.attn_norm blk.*.attn_norm\n"
        "layers.*.mlp_norm blk.*.ffn_norm\n"
        "layers.*.mlp.Wi blk.*.ffn_up\n"
        "layers.*.mlp.Wo blk.*.ffn_down\n",
    .derive = read_modern_bert_folder,
    .theta = 160000.0,
    .encoder = true};

}  // namespace

extern constexpr Architecture kModernBert{.read = read_modern_bert,
                                          .build = build_encoder,
                                          .example = kModernBertExample,
                                          .folder = &kModernBertFolder};

}  // namespace tenon
