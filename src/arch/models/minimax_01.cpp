// MiniMax-01 and MiniMax M1 (general.architecture "minimax-01").
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "arch/keys/recurrent_keys.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Linear attention with a constant decay per head, as a scan with as many groups as heads.
struct LightningSpec {
  uint32_t heads = 0;
  uint32_t size = 0;  ///< values of a head's query, key and value
  float epsilon = 0.0f;

  [[nodiscard]] uint64_t columns() const { return uint64_t{heads} * size; }
  [[nodiscard]] uint64_t state_values() const { return columns() * size; }
  Slot build(BuildContext& context, uint32_t layer, Slot x) const;
  void add_caches(BuildContext& context, uint32_t layer) const;
};

/// MiniMax 2025, arXiv 2501.08313: linear attention with a constant decay per head (lightning
/// attention) in most layers, experts in all, and residuals that continue from the norms' results.
ModelSpec read_minimax_01(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {}, model);
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const float residual = keys.scale_or("residual_scale", 1.0);
  const uint32_t interval = keys.count_or("full_attention_interval", 8, 1, SpecLimits::kLayers);
  std::vector<bool> linear(layers);
  for (uint32_t i = 0; i < layers; ++i) linear[i] = (i + 1) % interval != 0;
  if (keys.contains("attention.recurrent_layers")) {
    linear = keys.flags("attention.recurrent_layers", layers);
  }
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    layer.residual_scale = residual;
    if (!linear[i]) continue;
    const uint32_t heads = layer.attention.heads;
    const uint32_t size = layer.attention.key_dim;
    if (layer.attention.value_dim != size || heads > model.width) {
      keys.refuse(
          Code::Format, "attention.head_count",
          "is {} of {} and {} values in a layer of linear attention, which has values as wide "
          "as keys and no more heads than columns, {}",
          heads, size, layer.attention.value_dim, model.width);
    }
    const LightningSpec spec{heads, size, model.output_norm.epsilon};
    check_state_values(keys, spec.state_values());
    layer.attention = {};
    layer.specs.set(spec);
  }
  return model;
}

constexpr std::string_view kLightningState = "lightning attention";

void LightningSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kLightningState, state_values());
}

/// S = exp(-slope) S + k v^T, q S. Slopes are those of ALiBi, smaller in each later layer.
///   x [T, width], normalised -> [T, width]; [R, width] in the last layer
Slot LightningSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  const uint64_t rows = columns();
  const std::string name = context.in_layer(layer, "attn_qkv.weight");
  const RowSource fused =
      context.tensors.tensor(name, {3 * rows, context.model.width}, TensorRole::Matrix);
  const auto part = [&](const char* suffix, uint64_t kind) {
    const Slot own = context.tensors.bind(name + suffix, fused.in_turn(kind, 3, size));
    return op::activate(context.ops, TENON_ACTIVATION_SILU, op::linear(context.ops, x, own));
  };
  const double depth = static_cast<double>(context.model.layers.size()) - 1.0;
  const double share = 1.0 - layer / (depth + 1e-5) + 1e-5;
  const double ratio = std::exp2(-8.0 / heads);
  SsmScanInputs scan;
  scan.c = part(" (q)", 0);
  scan.b = part(" (k)", 1);
  scan.x = part(" (v)", 2);
  scan.dt =
      op::scale(context.ops, op::slice(context.ops, x, context.model.width, 0, heads), 0.0f, 1.0f);
  scan.a = context.tensors.bind(name + " (slopes)",
                                fused.rows(0, heads).filled(1, -share * ratio, ratio));
  SsmScanOptions options;
  options.state = context.state(layer, kLightningState);
  options.heads = options.groups = heads;
  options.size = size;
  const NormSpec norm{"attn_norm_2", NormKind::Rms, epsilon};
  const Slot normed = context.norm(op::ssm_scan(context.ops, scan, options),
                                   context.in_layer(layer, norm.name), norm, rows);
  const Slot gate =
      context.linear(x, context.in_layer(layer, "attn_gate"), rows, context.model.width);
  return context.linear(context.wanted_rows(layer, op::sigmoid_gate(context.ops, normed, gate)),
                        context.in_layer(layer, "attn_output"), context.model.width, rows);
}

Slot build_minimax_01(BuildContext& context) {
  const ModelSpec& model = context.model;
  Slot x = embedding(context);
  for (uint32_t layer = 0; layer < model.layers.size(); ++layer) {
    const LayerSpec& spec = model.layers[layer];
    const Slot all_rows = context.layer_norm(x, layer, spec.attention_norm);
    const Slot mixed = mixer(context, layer, all_rows);
    const Slot residual = context.wanted_rows(layer, all_rows);
    x = op::add(context.ops, context.scaled(residual, spec.residual_scale), mixed);
    x = context.layer_norm(x, layer, spec.feed_forward_norm);
    x = op::add(context.ops, context.scaled(x, spec.residual_scale),
                feed_forward(context, layer, x));
  }
  return output_head(context, x);
}

constexpr KeyValue kMiniMax01Example[] = {{"full_attention_interval", 2u},
                                          {"rope.dimension_count", 32u},
                                          {"residual_scale", 1.5f},
                                          {"expert_count", 8u},
                                          {"expert_used_count", 2u}};

}  // namespace

extern constexpr Architecture kMiniMax01{
    .read = read_minimax_01, .build = build_minimax_01, .example = kMiniMax01Example};

}  // namespace tenon
