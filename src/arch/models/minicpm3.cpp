// MiniCPM 3 (general.architecture "minicpm3").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// OpenBMB 2024: latent attention with MiniCPM's multipliers, which these files lack.
ModelSpec read_minicpm3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .longrope = true});
  read_latent_attention(keys, model);
  model.embedding_scale = 12.0f;
  model.logit_scale = 256.0f / static_cast<float>(model.width);
  const auto depth = static_cast<double>(model.layers.size());
  read_longrope(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.residual_scale = static_cast<float>(1.4 / std::sqrt(depth));
  }
  return model;
}

constexpr KeyValue kMiniCpm3Example[] = {{"attention.key_length", 48u},
                                         {"attention.value_length", 32u},
                                         {"attention.kv_lora_rank", 64u},
                                         {"attention.q_lora_rank", 96u},
                                         {"rope.dimension_count", 16u}};

/// The unused table.
constexpr std::string_view kMiniCpm3Ignored[] = {"rope_factors_*.weight"};

}  // namespace

extern constexpr Architecture kMiniCpm3{
    .read = read_minicpm3, .example = kMiniCpm3Example, .ignored = kMiniCpm3Ignored};

}  // namespace tenon
