// Gemma 3, its text model, and EmbeddingGemma (general.architecture "gemma3", "gemma-embedding").
#include <cmath>

#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

constexpr size_t kLayersOfGemma3At27b = 62;

/// Kamath et al. 2025: groups of five layers with a window and a layer without, each kind with its
/// own rope; norms on query and key heads instead of Gemma 2's caps.
ModelSpec read_gemma3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  read_windows(keys, 6, SeesAll::Last, model);
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  const double window_theta = keys.number_or("rope.freq_base_swa", 10000.0, 2.0, 1e15);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    if (model.layers.size() == kLayersOfGemma3At27b && !keys.contains("attention.query_scalar")) {
      attention.scale = 1.0f / std::sqrt(static_cast<float>(model.width) / attention.heads);
    }
    if (attention.window == 0) continue;
    // Only full attention is scaled to longer contexts.
    attention.rope = attention.rope.unscaled();
    attention.rope.theta = window_theta;
  }
  return model;
}

/// Google DeepMind 2025, arXiv 2509.20354: Gemma 3 as an encoder, with two matrices after the
/// pooling.
ModelSpec read_gemma_embedding(const Keys& keys) {
  ModelSpec model = read_gemma3(keys);
  make_encoder(keys, TENON_POOL_MEAN, model);
  model.pooled_widths = {keys.count_or("dense_2_feat_out", 0, 1, SpecLimits::kWidth),
                         keys.count_or("dense_3_feat_out", 0, 1, SpecLimits::kWidth)};
  return model;
}

Slot build_gemma_embedding(BuildContext& context) {
  const ModelSpec& model = context.model;
  const Slot pooled = build_encoder(context);
  if (model.pooled_widths[0] == 0 || model.pooled_widths[1] == 0) return pooled;
  const Slot wide = context.linear(pooled, "dense_2", model.pooled_widths[0], model.width);
  return context.linear(wide, "dense_3", model.pooled_widths[1], model.pooled_widths[0]);
}

constexpr KeyValue kGemma3Example[] = {{"block_count", 7u},
                                       {"attention.sliding_window", 16u},
                                       {"rope.scaling.type", std::string_view("linear")},
                                       {"rope.scaling.factor", 8.0f}};

constexpr FolderForm kGemma3Folder{.types = "gemma3_text",
                                   .classes = "Gemma3ForCausalLM Gemma3ForConditionalGeneration",
                                   .wrappers = "gemma3",
                                   .keys =
                                       "vocab_size#embed_tokens\n"
                                       "num_key_value_heads!\nhead_dim!\nsliding_window!\n"
                                       "hidden_activation=gelu_pytorch_tanh\n"
                                       "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
                                       "attention_bias?layers.0.self_attn.q_proj.bias\n"
                                       "query_pre_attn_scalar$attention.query_scalar\n"
                                       "attn_logit_softcapping=\n"
                                       "final_logit_softcapping=\n"
                                       "sliding_window_pattern=6\n"
                                       "_sliding_window_pattern=6\n"
                                       "use_bidirectional_attention=false\n",
                                   .tensors = kGemmaNorms,
                                   .derive =
                                       [](FolderConfig& config) {
                                         read_window_layers(
                                             config, [](uint64_t layer) { return layer % 6 != 5; });
                                       },
                                   .theta = 1e6};

}  // namespace

extern constexpr Architecture kGemma3{
    .read = read_gemma3, .example = kGemma3Example, .folder = &kGemma3Folder};
extern constexpr Architecture kGemmaEmbedding{
    .read = read_gemma_embedding, .build = build_gemma_embedding, .example = kGemma3Example};

}  // namespace tenon
