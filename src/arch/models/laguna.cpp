// Laguna (general.architecture "laguna").
#include <fmt/format.h>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Poolside 2026 (as in models/laguna of `transformers`): a gate, softplus of the input, per head
/// or per attended value. Windows, if any, are in three of four layers, with their own heads and
/// rope. Experts are selected by sigmoids.
ModelSpec read_laguna(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_windows(keys, 4, SeesAll::First, model);
  read_window_rope(keys, model);
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  const double cap = keys.number_or("router_logit_softcapping", 0.0, 0.0, 1e6);
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward.experts.router_soft_cap = static_cast<float>(cap);
    AttentionSpec& attention = layer.attention;
    attention.qk_norm = QkNorm::EachHead;
    attention.gate = {attention.heads, TENON_ACTIVATION_SOFTPLUS};
  }
  return model;
}

/// Selects gates per value, instead of per head, by the rows of the tensor.
void adapt_laguna(const ModelFile& file, ModelSpec& model) {
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const TensorInfo* gate = file.find(fmt::format("blk.{}.attn_gate.weight", i));
    AttentionSpec& attention = model.layers[i].attention;
    const uint64_t values = uint64_t{attention.heads} * attention.value_dim;
    if (gate == nullptr || gate->num_values() / gate->row_values() != values) continue;
    attention.gate.columns = static_cast<uint32_t>(values);
  }
}

constexpr int32_t kLagunaHeads[] = {4, 6, 6, 6};
constexpr KeyValue kLagunaExample[] = {
    {"attention.head_count", std::span<const int32_t>(kLagunaHeads)},
    {"attention.sliding_window", 16u},
    {"rope.dimension_count", 32u},
    {"rope.dimension_count_swa", 64u},
    {"rope.freq_base_swa", 10000.0f},
    {"leading_dense_block_count", 1u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u},
    {"expert_shared_feed_forward_length", 128u}};

}  // namespace

extern constexpr Architecture kLaguna{
    .read = read_laguna, .adapt = adapt_laguna, .example = kLagunaExample};

}  // namespace tenon
