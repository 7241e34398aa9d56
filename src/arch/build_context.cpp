// BuildContext: KV groups by geometry, angles by rope, and the operations that every block needs.
#include "arch/build_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

/// Groups are equal in what tenon_cache_group says of a layer.
bool same_geometry(const AttentionSpec& a, const AttentionSpec& b) {
  return a.kv_heads == b.kv_heads && a.key_dim == b.key_dim && a.value_dim == b.value_dim &&
         a.window == b.window;
}

}  // namespace

BuildContext::BuildContext(const ModelSpec& spec, const ProgramOptions& options,
                           TensorBinder& binder, ProgramBuilder& builder)
    : model(spec), tensors(binder), ops(builder) {
  add_groups(options);
  add_angles();
}

void BuildContext::add_groups(const ProgramOptions& options) {
  std::vector<std::pair<const AttentionSpec*, uint32_t>> groups;  // and how many layers they have
  for (const LayerSpec& layer : model.layers) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return same_geometry(*group.first, layer.attention);
    });
    const auto group = static_cast<uint32_t>(found - groups.begin());
    if (found == groups.end()) groups.emplace_back(&layer.attention, 0);
    cache_.push_back({group, groups[group].second++});
  }
  for (const auto& [attention, layers] : groups) {
    ops.cache_group({layers, attention->kv_heads, attention->key_dim, attention->value_dim,
                  options.cache_type, options.block_tokens, attention->window});
  }
}

void BuildContext::add_angles() {
  for (uint32_t i = 0; i < model.layers.size(); ++i) {
    const RopeSpec& rope = layer(i).attention.rope;
    uint32_t same = 0;
    while (!(layer(same).attention.rope == rope)) ++same;
    angles_.push_back(same < i ? angles_[same] : make_angles(rope));
  }
}

Slot BuildContext::make_angles(const RopeSpec& rope) {
  if (rope.dimensions == 0) return kNoSlot;
  const std::vector<float> divisors = tensors.optional_divisors(rope.divisors, rope.dimensions / 2);
  const RopeTable table = make_rope_table(rope, divisors);
  return ops.rope_angles(ops.constant("rope frequencies", table.frequencies),
                         static_cast<float>(table.magnitude));
}

std::string BuildContext::in_layer(uint32_t layer, std::string_view name) {
  return fmt::format("blk.{}.{}", layer, name);
}

Slot BuildContext::linear(Slot x, const std::string& name, uint64_t rows, uint64_t columns,
                          Presence presence) {
  const Slot weight = tensors.weight(name + ".weight", {rows, columns}, TensorRole::Matrix);
  return ops.linear(x, weight, bias(name, rows, presence));
}

Slot BuildContext::bias(const std::string& name, uint64_t rows, Presence presence) {
  switch (presence) {
    case Presence::Absent:
      return kNoSlot;
    case Presence::Optional:
      return tensors.optional_weight(name + ".bias", {rows}, TensorRole::Bias);
    case Presence::Required:
      return tensors.weight(name + ".bias", {rows}, TensorRole::Bias);
  }
  return kNoSlot;
}

Slot BuildContext::layer_norm(Slot x, uint32_t layer, const NormSpec& spec) {
  if (spec.name.empty()) return x;
  return norm(x, in_layer(layer, spec.name), spec, model.width);
}

Slot BuildContext::norm(Slot x, const std::string& name, const NormSpec& spec, uint64_t columns,
                        uint32_t segment) {
  const Slot weight = tensors.weight(name + ".weight", {columns}, TensorRole::Norm);
  if (spec.kind == NormKind::Rms) return ops.rms_norm(x, weight, spec.epsilon, segment);
  const Presence biased = spec.kind == NormKind::Layer ? Presence::Required : Presence::Absent;
  return ops.layer_norm(x, weight, bias(name, columns, biased), spec.epsilon, segment);
}

Slot BuildContext::scaled(Slot x, float factor) {
  return factor == 1.0f ? x : ops.scale(x, factor);
}

}  // namespace tenon
