// LFM2, dense and with experts (general.architecture "lfm2", "lfm2moe").
#include "arch/architecture.h"
#include "arch/blocks/short_conv.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Liquid AI 2025: short convolutions between two gates, and attention with normalised queries and
/// keys in some layers.
ModelSpec read_lfm2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .hybrid = true});
  model.output_norm.name = "token_embd_norm";
  const uint32_t taps = keys.count("shortconv.l_cache", 2, SpecLimits::kConvTaps);
  for (LayerSpec& layer : model.layers) {
    if (layer.attention.heads > 0) {
      layer.attention.qk_norm = QkNorm::EachHead;
    } else {
      const ShortConvSpec spec{.kernel = taps};
      check_state_values(keys, spec.state_values(model.width));
      layer.specs.set(spec);
    }
  }
  return model;
}

ModelSpec read_lfm2moe(const Keys& keys) {
  ModelSpec model = read_lfm2(keys);
  read_experts(keys, {.sigmoid = true}, model);
  return model;
}

constexpr int32_t kLfm2Heads[] = {0, 0, 2, 0};
constexpr KeyValue kLfm2Example[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kLfm2Heads)}, {"shortconv.l_cache", 3u}};

constexpr KeyValue kLfm2MoeExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kLfm2Heads)},
    {"shortconv.l_cache", 3u},
    {"expert_count", 8u},
    {"expert_used_count", 3u},
    {"expert_feed_forward_length", 256u},
    {"leading_dense_block_count", 1u}};

}  // namespace

extern constexpr Architecture kLfm2{.read = read_lfm2, .example = kLfm2Example};
extern constexpr Architecture kLfm2Moe{.read = read_lfm2moe, .example = kLfm2MoeExample};

}  // namespace tenon
