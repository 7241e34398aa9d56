// The mixers of a layer, in the order of their sum.
#include "arch/blocks/mixer.h"

#include "arch/blocks/attention.h"
#include "program/operations.h"

namespace tenon {

Slot mixer(BuildContext& context, uint32_t layer, Slot x) {
  const LayerSpec& spec = context.layer(layer);
  Slot sum = kNoSlot;
  const auto add = [&](Slot mixed) {
    sum = sum == kNoSlot ? mixed : op::add(context.ops, sum, mixed);
  };
  const auto add_all = [&](const BlockSpecs& specs) {
    for (const BlockSpec& one : specs) {
      if (one.is_mixer()) add(one.build(context, layer, x));
    }
  };
  if (spec.attention.heads > 0) {
    if (!spec.attention.specs.has_mixer()) add(attention_block(context, layer, x));
    add_all(spec.attention.specs);
  }
  add_all(spec.specs);
  return sum;
}

void add_caches(BuildContext& context, uint32_t layer) {
  add_attention_caches(context, layer);
  for (const BlockSpec& one : context.layer(layer).specs) one.add_caches(context, layer);
}

}  // namespace tenon
