// Llama 4, its text model (general.architecture "llama4").
#include "arch/architecture.h"

namespace tenon {
namespace {

constexpr uint32_t kChunk = 8192;       // positions that see each other
constexpr uint32_t kManyExperts = 128;  // experts of Maverick, whose queries and keys have no norms

/// Meta 2025: groups of three layers with rotated positions in chunks and a layer with full
/// attention, without positions but with queries that grow; one expert per token, whose weight
/// scales its input.
ModelSpec read_llama4(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_experts(keys, {.normalised = false, .sigmoid = true}, model);
  const uint32_t step = keys.count_or("interleave_moe_layer_step", 1, 1, SpecLimits::kLayers);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    AttentionSpec& attention = layer.attention;
    ExpertSpec& experts = layer.feed_forward.experts;
    const bool many = experts.count == kManyExperts;
    if ((i + 1) % step == 0) {
      experts.sigmoid = true;
      experts.normalised = false;
      experts.weighs_input = true;
      experts.shared_width = experts.width;
    } else {
      experts = {};
    }
    if ((i + 1) % 4 == 0) {
      attention.rope = {};
      attention.query_scale = {.scale = 0.1f, .length = kChunk, .offset = 1};
      continue;
    }
    attention.window = kChunk;
    attention.mask = TENON_MASK_CHUNKED;
    if (many) continue;
    attention.qk_norm = QkNorm::Unweighted;
    attention.rope_before_norm = true;
  }
  return model;
}

constexpr KeyValue kLlama4Example[] = {{"block_count", 4u},
                                       {"expert_count", 8u},
                                       {"expert_used_count", 1u},
                                       {"expert_feed_forward_length", 256u},
                                       {"interleave_moe_layer_step", 2u}};

}  // namespace

extern constexpr Architecture kLlama4{.read = read_llama4, .example = kLlama4Example};

}  // namespace tenon
