// HRM-Text (general.architecture "hrm_text").
#include "arch/architecture.h"
#include "program/operations.h"

namespace tenon {
namespace {

/// Wang et al. 2025, arXiv 2506.21734, as `transformers` has it in models/hrm_text: two stacks of
/// layers, a low one that a token passes several times before each pass of the high one, with a
/// cache of their own each time. Norms have no weights. Blocks 0 .. n - 1 are the low stack, n ..
/// 2 n - 1 the high; block_count counts the passes. Prompts whose tokens see each other (prefix_lm)
/// are computed as others.
ModelSpec read_hrm_text(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::RmsUnweighted});
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const uint32_t stack = keys.count("hrm.layers_per_stack", 1, layers);
  const uint32_t high = keys.count("hrm.h_cycles", 1, layers);
  const uint32_t low = keys.count("hrm.l_cycles", 1, layers);
  if (uint64_t{stack} * high * (low + 1) != layers) {
    keys.refuse(Code::Format, "block_count",
                "is {}, not {} layers of a stack by {} high cycles of {}", layers, stack, high,
                low + 1);
  }
  model.embedding_scale = keys.scale_or("embedding_scale", 1.0);
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    const bool is_high = i / stack % (low + 1) == low;
    layer.block = i % stack + (is_high ? stack : 0);
    layer.attention.gate.columns = layer.attention.heads * layer.attention.value_dim;
  }
  return model;
}

/// low = stack_low(high + low), some times, then high = stack_high(high + low), all of it some times.
Slot build_hrm_text(BuildContext& context) {
  const ModelSpec& model = context.model;
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const uint32_t stack = (*model.layers.back().block + 1) / 2;
  Slot high = embedding(context);
  Slot low = context.tensors.weight("hrm.z_l_init", {model.width}, TensorRole::Bias);
  for (uint32_t first = 0;; first += stack) {
    Slot x = op::add(context.ops, high, low);
    for (uint32_t i = 0; i < stack; ++i) x = decoder_layer(context, first + i, x);
    if (first + stack == layers) return output_head(context, x);
    const bool is_high = *model.layers[first].block >= stack;
    (is_high ? high : low) = context.norm(x, "stack_norm", model.output_norm, model.width);
  }
}

constexpr KeyValue kHrmTextExample[] = {{"block_count", 6u},
                                        {"hrm.layers_per_stack", 1u},
                                        {"hrm.h_cycles", 2u},
                                        {"hrm.l_cycles", 2u},
                                        {"embedding_scale", 4.0f}};

}  // namespace

extern constexpr Architecture kHrmText{
    .read = read_hrm_text, .build = build_hrm_text, .example = kHrmTextExample};

}  // namespace tenon
