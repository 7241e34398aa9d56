// Llama-Nemotron and DeciLM (general.architecture "deci").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Bercovich et al. 2025, arXiv 2505.00949: Llama after a search that removed attention or
/// feed-forward from some layers and narrowed others.
ModelSpec read_deci(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .hybrid = true});
  const auto layers = static_cast<uint32_t>(model.layers.size());
  const std::vector<uint32_t> heads =
      keys.counts("attention.head_count", layers, 0, SpecLimits::kHeads);
  for (uint32_t i = 0; i < layers; ++i) {
    LayerSpec& layer = model.layers[i];
    if (layer.attention.heads > 0) continue;
    if (heads[i] > 0) {
      keys.refuse(Code::Unsupported, "attention.head_count_kv",
                  "is 0 in layer {}, which has {} heads: a matrix in place of attention "
                  "(Nemotron 51B) is not supported",
                  i, heads[i]);
    }
    layer.attention_norm = {};
  }
  return model;
}

constexpr int32_t kDeciHeads[] = {4, 0, 4, 4};
constexpr int32_t kDeciKvHeads[] = {2, 0, 1, 2};

constexpr KeyValue kDeciExample[] = {
    {"attention.head_count", std::span<const int32_t>(kDeciHeads)},
    {"attention.head_count_kv", std::span<const int32_t>(kDeciKvHeads)}};

}  // namespace

extern constexpr Architecture kDeci{.read = read_deci, .example = kDeciExample};

}  // namespace tenon
