// MiniMax M3, its text model (general.architecture "minimax-m3").
#include "arch/architecture.h"
#include "arch/keys/index_keys.h"

namespace tenon {
namespace {

/// The gates of all feed-forwards, from the configuration of the published model, since no key
/// gives them. llama.cpp has the same constants.
constexpr GateSpec kMiniMaxM3Gate{.alpha = 1.702f, .limit = 7.0f, .up_offset = 1.0f};

/// MiniMax 2026 (as in models/minimax_m3_vl of `transformers`): norms of each head, part of it
/// rotated, experts selected by sigmoids and a shared one. From the first layer with experts on,
/// attention sees blocks of positions that an index selects per KV head.
ModelSpec read_minimax_m3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.sigmoid = true}, model);
  read_shared_expert(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::EachHead;
    layer.feed_forward.gate = kMiniMaxM3Gate;
    layer.feed_forward.experts.gate = kMiniMaxM3Gate;
  }
  read_block_index(keys, model);
  return model;
}

constexpr KeyValue kMiniMaxM3Example[] = {{"rope.dimension_count", 32u},
                                          {"leading_dense_block_count", 1u},
                                          {"expert_count", 8u},
                                          {"expert_used_count", 3u},
                                          {"expert_feed_forward_length", 256u},
                                          {"expert_shared_count", 1u},
                                          {"attention.indexer.head_count", 2u},
                                          {"attention.indexer.key_length", 32u},
                                          {"attention.indexer.top_k", 3u},
                                          {"attention.indexer.block_size", 8u},
                                          {"attention.indexer.local_blocks", 1u}};

}  // namespace

extern constexpr Architecture kMiniMaxM3{.read = read_minimax_m3, .example = kMiniMaxM3Example};

}  // namespace tenon
