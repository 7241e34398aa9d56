// RWKV 6 (general.architecture "rwkv6").
#include "arch/architecture.h"
#include "arch/blocks/wkv.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Peng et al. 2024, arXiv 2404.05892: no attention; each layer's state is its last two inputs and
/// a matrix per head.
ModelSpec read_rwkv6(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer, .hybrid = true});
  const auto layers = static_cast<uint32_t>(model.layers.size());
  // Each layer has a channel mix, so no width may be 0.
  (void)keys.counts("feed_forward_length", layers, 1, SpecLimits::kWidth);
  const WkvSpec spec = read_wkv6(keys, model.width, 2);
  set_wkv(keys, spec, model);
  // Every `period` layers the matrices are halved once more, so that sums fit half precision.
  const uint32_t period = keys.count_or("rescale_every_n_layers", 0, 0, SpecLimits::kLayers);
  for (uint32_t layer = period; period > 0 && layer <= layers; layer += period) {
    WkvSpec halved = spec;
    halved.result_scale = 0.5f;
    model.layers[layer - 1].specs.set(halved);
  }
  return model;
}

constexpr KeyValue kRwkv6Example[] = {
    {"attention.head_count", 0u}, {"attention.head_count_kv", 0u}, {"wkv.head_size", 64u},
    {"time_mix_extra_dim", 8u},   {"time_decay_extra_dim", 16u},   {"rescale_every_n_layers", 2u}};

}  // namespace

extern constexpr Architecture kRwkv6{
    .read = read_rwkv6, .build = build_rwkv, .example = kRwkv6Example};

}  // namespace tenon
