// ARWKV 7 (general.architecture "arwkv7").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Yueyu et al. 2025, arXiv 2501.15570: RWKV 7's time mix instead of Qwen's attention. Some files
/// lack the gate and the norm of heads.
ModelSpec read_arwkv7(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  WkvSpec spec = read_wkv7(keys, model.width, 1);
  spec.head_norm = Presence::Optional;
  set_wkv(keys, spec, model);
  return model;
}

/// The first layer needs no share of the first layer's values.
constexpr std::string_view kArwkv7Ignored[] = {"blk.0.time_mix_v0.*", "blk.0.time_mix_v1.*",
                                               "blk.0.time_mix_v2.*"};

constexpr KeyValue kArwkv7Example[] = {{"attention.head_count", 0u},
                                       {"attention.head_count_kv", 0u},
                                       {"wkv.head_size", 64u},
                                       {"token_shift_count", 1u},
                                       {"attention.decay_lora_rank", 16u},
                                       {"attention.iclr_lora_rank", 16u},
                                       {"attention.value_residual_mix_lora_rank", 8u},
                                       {"attention.gate_lora_rank", 24u}};

}  // namespace

extern constexpr Architecture kArwkv7{
    .read = read_arwkv7, .example = kArwkv7Example, .ignored = kArwkv7Ignored};

}  // namespace tenon
