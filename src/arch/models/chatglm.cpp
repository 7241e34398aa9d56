// ChatGLM 3 and GLM-4-9B (general.architecture "chatglm").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Zeng et al. 2024, arXiv 2406.12793: half of each head rotated, biases on queries, keys and
/// values, the gate's rows before those of up.
ModelSpec read_chatglm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

/// Older and newer converters differ in fusing the projections.
void adapt_chatglm(const ModelFile& file, ModelSpec& model) {
  if (file.find("blk.0.attn_q.weight") == nullptr) return;
  for (LayerSpec& layer : model.layers) layer.attention.fused_qkv = false;
}

constexpr KeyValue kChatGlmExample[] = {{"rope.dimension_count", 32u}};

}  // namespace

extern constexpr Architecture kChatGlm{
    .read = read_chatglm, .adapt = adapt_chatglm, .example = kChatGlmExample};

}  // namespace tenon
