// NeoBERT (general.architecture "neo-bert").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Le Breton et al. 2025, arXiv 2502.19587: an encoder with RMS norms before the blocks, rotated
/// positions, SwiGLU and fused projections. The rows of "attn_qkv" are in the order of the model's
/// own code, which converters keep.
ModelSpec read_neo_bert(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  make_encoder(keys, TENON_POOL_FIRST, model);
  model.output_norm.name = "enc.output_norm";
  for (LayerSpec& layer : model.layers) {
    AttentionSpec& attention = layer.attention;
    if (attention.kv_heads != attention.heads || attention.value_dim != attention.key_dim) {
      keys.refuse(Code::Format, "attention.head_count_kv",
                  "is {}: queries, keys and values are to be alike, {} heads of {}",
                  attention.kv_heads, attention.heads, attention.key_dim);
    }
    attention.fused_qkv = attention.fused_by_head = true;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

constexpr KeyValue kNeoBertExample[] = {{"attention.head_count_kv", 4u}};

}  // namespace

extern constexpr Architecture kNeoBert{
    .read = read_neo_bert, .build = build_encoder, .example = kNeoBertExample};

}  // namespace tenon
