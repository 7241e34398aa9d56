// RWKV 7 (general.architecture "rwkv7").
#include "arch/architecture.h"
#include "arch/blocks/wkv.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Peng et al. 2025, arXiv 2503.14456: no attention; each layer's state is its last two inputs and
/// a matrix per head.
ModelSpec read_rwkv7(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer, .hybrid = true});
  // Each layer has a channel mix, so no width may be 0.
  (void)keys.counts("feed_forward_length", static_cast<uint32_t>(model.layers.size()), 1,
                    SpecLimits::kWidth);
  set_wkv(keys, read_wkv7(keys, model.width, 2), model);
  return model;
}

/// The first layer needs no share of the first layer's values.
constexpr std::string_view kRwkv7Ignored[] = {"blk.0.time_mix_v0.*", "blk.0.time_mix_v1.*",
                                              "blk.0.time_mix_v2.*"};

constexpr KeyValue kRwkv7Example[] = {{"attention.head_count", 0u},
                                      {"attention.head_count_kv", 0u},
                                      {"wkv.head_size", 64u},
                                      {"attention.decay_lora_rank", 16u},
                                      {"attention.iclr_lora_rank", 16u},
                                      {"attention.value_residual_mix_lora_rank", 8u},
                                      {"attention.gate_lora_rank", 24u}};

}  // namespace

extern constexpr Architecture kRwkv7{
    .read = read_rwkv7, .build = build_rwkv, .example = kRwkv7Example, .ignored = kRwkv7Ignored};

}  // namespace tenon
