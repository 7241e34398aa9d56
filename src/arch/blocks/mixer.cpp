// The mixers of a layer, in the order of their sum.
#include "arch/blocks/mixer.h"

#include "arch/blocks/attention.h"
#include "arch/blocks/latent_attention.h"
#include "arch/blocks/pooled_attention.h"
#include "program/operations.h"

namespace tenon {
namespace {

Slot attention_of(BuildContext& context, uint32_t layer, Slot x) {
  const AttentionSpec& spec = context.layer(layer).attention;
  if (spec.pools.query_rank > 0) return pooled_attention(context, layer, x);
  if (spec.latent.rank > 0) return latent_attention(context, layer, x);
  return attention_block(context, layer, x);
}

}  // namespace

Slot mixer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  Slot sum = spec.attention.heads > 0 ? attention_of(context, layer, x) : kNoSlot;
  for (const BlockSpec& one : spec.specs) {
    if (!one.is_mixer()) continue;
    const Slot mixed = one.build(context, layer, x);
    sum = sum == kNoSlot ? mixed : op::add(context.ops, sum, mixed);
  }
  return sum;
}

}  // namespace tenon
