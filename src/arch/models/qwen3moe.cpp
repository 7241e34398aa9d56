// Qwen3 with experts (general.architecture "qwen3moe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Yang et al. 2025: Qwen3 with a mixture of experts in every layer, none of them shared.
ModelSpec read_qwen3moe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_window(keys, model);
  read_experts(keys, {}, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::EachHead;
  return model;
}

constexpr KeyValue kQwen3MoeExample[] = {
    {"expert_count", 8u}, {"expert_used_count", 2u}, {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kQwen3Moe{.read = read_qwen3moe, .example = kQwen3MoeExample};

}  // namespace tenon
