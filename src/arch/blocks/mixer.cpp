// The mixers of a layer, in the order in which they are added up.
#include "arch/blocks/mixer.h"

#include "arch/blocks/attention.h"
#include "arch/blocks/delta_rule.h"
#include "arch/blocks/latent_attention.h"
#include "arch/blocks/pooled_attention.h"
#include "arch/blocks/short_conv.h"
#include "arch/blocks/state_space.h"
#include "arch/blocks/wkv.h"
#include "program/operations.h"

namespace tenon {
namespace {

bool has_pooled_attention(const LayerSpec& layer) {
  return layer.attention.heads > 0 && layer.attention.pools.query_rank > 0;
}
bool has_attention(const LayerSpec& layer) {
  return layer.attention.heads > 0 && layer.attention.latent.rank == 0 &&
         !has_pooled_attention(layer);
}
bool has_latent_attention(const LayerSpec& layer) {
  return layer.attention.heads > 0 && layer.attention.latent.rank > 0;
}
bool has_state_space(const LayerSpec& layer) { return layer.state_space.inner > 0; }
bool has_delta_rule(const LayerSpec& layer) { return layer.delta.value_heads > 0; }
bool has_short_conv(const LayerSpec& layer) { return layer.short_conv.kernel > 0; }
bool has_wkv(const LayerSpec& layer) { return layer.wkv.head_dim > 0; }

struct Mixer {
  bool (*is_in)(const LayerSpec& layer);
  Slot (*build)(BuildContext& context, uint32_t layer, Slot x);
};

constexpr Mixer kMixers[] = {
    {has_attention, attention_block},
    {has_latent_attention, latent_attention},
    {has_pooled_attention, pooled_attention},
    {has_state_space, state_space},
    {has_delta_rule, delta_rule},
    {has_short_conv, short_conv},
    {has_wkv, wkv},
};

}  // namespace

Slot mixer(BuildContext& context, uint32_t layer, Slot x) {
  Slot sum = kNoSlot;
  for (const Mixer& one : kMixers) {
    if (!one.is_in(context.layer(layer))) continue;
    const Slot mixed = one.build(context, layer, x);
    sum = sum == kNoSlot ? mixed : op::add(context.ops, sum, mixed);
  }
  return sum;
}

}  // namespace tenon
