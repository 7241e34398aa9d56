// Gemma 4, its text model (general.architecture "gemma4").
#include <cmath>
#include <string>

#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/blocks/layer_embedding.h"
#include "arch/blocks/mixer.h"
#include "arch/folder/folder_config.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Sets the attention of a layer with a window: its own heads and rope.
void set_window(const Keys& keys, uint32_t window, AttentionSpec& attention) {
  attention.window = window;
  attention.key_dim =
      keys.count_or("attention.key_length_swa", attention.key_dim, 1, SpecLimits::kHeadDim);
  attention.value_dim =
      keys.count_or("attention.value_length_swa", attention.value_dim, 1, SpecLimits::kHeadDim);
  attention.rope = attention.rope.unscaled();
  const uint32_t rotated =
      keys.count_or("rope.dimension_count_swa", attention.key_dim, 1, attention.key_dim);
  if (rotated % 2 != 0) {
    keys.refuse(Code::Format, "rope.dimension_count_swa", "is {}, not an even number of values",
                rotated);
  }
  attention.rope.dimensions = rotated;
  attention.rope.theta = keys.number_or("rope.freq_base_swa", 10000.0, 2.0, 1e15);
  attention.rope.divisors = {};
}

/// Google DeepMind 2026: Gemma 3 with unscaled scores, normalised values, caches shared between
/// layers, embeddings per layer (Gemma 3n), and experts beside the dense feed-forward.
ModelSpec read_gemma4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  add_post_norms(model);
  model.embedding_scale = std::sqrt(static_cast<float>(model.width));
  model.logit_soft_cap = keys.scale_or("final_logit_softcapping", 0.0);
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const std::vector<bool> windows = keys.flags("attention.sliding_window_pattern", layers);
  const uint32_t window = keys.count("attention.sliding_window", 1, SpecLimits::kPositions);
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.feed_forward.activation = TENON_ACTIVATION_GELU_TANH;
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.value_norm = true;
    attention.value_may_be_key = true;
    if (windows[i]) set_window(keys, window, attention);
    attention.scale = 1.0f;
  }
  share_caches(keys, model);
  const uint32_t columns =
      keys.count_or("embedding_length_per_layer_input", 0, 0, SpecLimits::kWidth);
  if (columns > 0) model.specs.set(LayerEmbeddingSpec{columns});
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {}, model);
  }
  return model;
}

/// The dense feed-forward and the experts, with separate norms. The router reads x itself.
Slot dense_and_experts(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  const float epsilon = spec.feed_forward_norm.epsilon;
  const auto norm = [&](Slot value, std::string_view name) {
    return context.layer_norm(value, layer, {name, NormKind::Rms, epsilon});
  };
  const Slot dense =
      norm(gated_feed_forward(context, layer, norm(x, "ffn_norm")), "post_ffw_norm_1");
  const Slot scale = context.tensors.weight(context.in_layer(layer, "ffn_gate_inp.scale"),
                                            {context.model.width}, TensorRole::Norm);
  const Slot read =
      op::mul(context.ops,
              context.scaled(op::rms_norm(context.ops, x, kNoSlot, epsilon),
                             1.0f / std::sqrt(static_cast<float>(context.model.width))),
              scale);
  const Slot expert_scale =
      context.tensors.weight(context.in_layer(layer, "ffn_down_exps.scale"),
                             {spec.feed_forward.experts.count}, TensorRole::Norm);
  const Route chosen = expert_routes(context, layer, read, expert_scale);
  const Slot experts =
      routed_experts(context, layer, norm(x, "pre_ffw_norm_2"), chosen, context.model.width);
  return op::add(context.ops, dense, norm(experts, "post_ffw_norm_2"));
}

Slot gemma4_layer(BuildContext& context, uint32_t layer, Slot x, Slot embeddings) {
  const LayerSpec& spec = context.layer(layer);
  const Slot all_rows = x;
  x = context.wanted_rows(layer, x);
  const Slot mixed =
      mixer(context, layer, context.layer_norm(all_rows, layer, spec.attention_norm));
  x = op::add(context.ops, x, context.layer_norm(mixed, layer, spec.attention_post_norm));
  const Slot fed = spec.feed_forward.experts.count > 0
                       ? dense_and_experts(context, layer, x)
                       : gated_feed_forward(context, layer,
                                            context.layer_norm(x, layer, spec.feed_forward_norm));
  x = op::add(context.ops, x, context.layer_norm(fed, layer, spec.feed_forward_post_norm));
  if (embeddings != kNoSlot) {
    x = op::add(context.ops, x, layer_embedding_branch(context, layer, x, embeddings));
  }
  const Slot scale = context.tensors.optional_weight(
      context.in_layer(layer, "layer_output_scale.weight"), {1}, TensorRole::Norm);
  return scale == kNoSlot ? x : op::mul(context.ops, x, scale);
}

Slot build_gemma4(BuildContext& context) {
  Slot x = embedding(context);
  const Slot embeddings = context.model.specs.find<LayerEmbeddingSpec>() == nullptr
                              ? kNoSlot
                              : layer_embeddings(context, x);
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    x = gemma4_layer(context, layer, x, embeddings);
  }
  return output_head(context, x);
}

constexpr KeyValue kGemma4Example[] = {
    {"attention.sliding_window_pattern", true}, {"attention.sliding_window", 16u},
    {"attention.key_length_swa", 32u},          {"attention.value_length_swa", 32u},
    {"rope.dimension_count_swa", 32u},          {"attention.shared_kv_layers", 2u},
    {"embedding_length_per_layer_input", 64u},  {"final_logit_softcapping", 30.0f}};

/// Layers without a window have larger heads, and those that share a cache a wider feed-forward.
void read_gemma4_folder(FolderConfig& config) {
  if (!config.has("layer_types")) config.refuse(Code::Format, "layer_types", "is missing");
  read_windows_of_all(config);
  const uint64_t small = config.required_count("head_dim");
  const uint64_t large = full_head_dim(config).value_or(small);
  config.put("attention.key_length", large);
  config.put("attention.value_length", large);
  config.put("attention.key_length_swa", small);
  config.put("attention.value_length_swa", small);
  const uint64_t layers = config.required_count("num_hidden_layers");
  const uint64_t shared = config.count("num_kv_shared_layers").value_or(0);
  const uint64_t width = config.required_count("intermediate_size");
  if (!config.flag("use_double_wide_mlp").value_or(false)) return;
  if (layers > SpecLimits::kLayers || shared > layers || width > SpecLimits::kWidth) {
    config.refuse(Code::Format, "num_kv_shared_layers", "is {} of {} layers", shared, layers);
  }
  std::vector<int32_t> widths(layers, static_cast<int32_t>(width));
  for (uint64_t i = layers - shared; i < layers; ++i) widths[i] *= 2;
  config.put("feed_forward_length", MetadataValue::of(std::span<const int32_t>(widths)));
}

constexpr FolderForm kGemma4Folder{
    .types = "gemma4_text",
    .classes = "Gemma4ForCausalLM Gemma4ForConditionalGeneration",
    .wrappers = "gemma4",
    .keys =
        "vocab_size#embed_tokens\n"
        "num_key_value_heads!\nhead_dim!\nsliding_window!\n"
        "vocab_size_per_layer_input#embed_tokens_per_layer\n"
        "hidden_activation=gelu_pytorch_tanh\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "attention_bias=false\n"
        "final_logit_softcapping%final_logit_softcapping\n"
        "hidden_size_per_layer_input>embedding_length_per_layer_input\n"
        "num_kv_shared_layers>attention.shared_kv_layers\n"
        "attention_k_eq_v=false\n"
        "enable_moe_block=false\n"
        "moe_intermediate_size=\nnum_experts=\ntop_k_experts=\n"
        "use_bidirectional_attention=false|vision\n",
    .tensors =
        "embed_tokens_per_layer per_layer_token_embd\n"
        "per_layer_model_projection per_layer_model_proj\n"
        "per_layer_projection_norm per_layer_proj_norm\n"
        "layers.*.layer_scalar blk.*.layer_output_scale.weight\n"
        "layers.*.per_layer_input_gate blk.*.inp_gate\n"
        "layers.*.per_layer_projection blk.*.proj\n"
        "layers.*.post_per_layer_input_norm blk.*.post_norm\n"
        "layers.*.post_attention_layernorm blk.*.post_attention_norm\n"
        "layers.*.pre_feedforward_layernorm blk.*.ffn_norm\n"
        "layers.*.post_feedforward_layernorm blk.*.post_ffw_norm\n",
    .derive = read_gemma4_folder};

}  // namespace

extern constexpr Architecture kGemma4{.read = read_gemma4,
                                      .build = build_gemma4,
                                      .example = kGemma4Example,
                                      .folder = &kGemma4Folder};

}  // namespace tenon
