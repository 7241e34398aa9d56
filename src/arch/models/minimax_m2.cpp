// MiniMax M2 (general.architecture "minimax-m2").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// MiniMax 2025: norms over whole rows of queries and keys, part of each head rotated, experts
/// selected by sigmoids with a balancing bias.
ModelSpec read_minimax_m2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.sigmoid = true}, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::WholeRow;
  return model;
}

constexpr KeyValue kMiniMaxM2Example[] = {{"rope.dimension_count", 32u},
                                          {"expert_count", 8u},
                                          {"expert_used_count", 3u},
                                          {"expert_feed_forward_length", 256u}};

}  // namespace

extern constexpr Architecture kMiniMaxM2{.read = read_minimax_m2, .example = kMiniMaxM2Example};

}  // namespace tenon
