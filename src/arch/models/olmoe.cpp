// OLMoE (general.architecture "olmoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Muennighoff et al. 2024: norms over whole rows of queries and keys; a token's weights are those
/// of the softmax over all experts.
ModelSpec read_olmoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  read_experts(keys, {.normalised = false}, model);
  for (LayerSpec& layer : model.layers) layer.attention.qk_norm = QkNorm::WholeRow;
  return model;
}

constexpr KeyValue kOlmoeExample[] = {{"expert_count", 8u}, {"expert_used_count", 3u}};

}  // namespace

extern constexpr Architecture kOlmoe{.read = read_olmoe, .example = kOlmoeExample};

}  // namespace tenon
