// MiniCPM 1 and 2 (general.architecture "minicpm").
#include <cmath>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Hu et al. 2024: Llama with multipliers. Files without their keys use those of the 2B model.
ModelSpec read_minicpm(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .longrope = true});
  if (keys.text_or("rope.scaling.type", "") == "longrope") read_longrope(keys, model);
  const auto layers = static_cast<double>(model.layers.size());
  read_multipliers(keys,
                   {.embedding = 12.0,
                    .residual = 1.4 / std::sqrt(layers),
                    .logit_divisor = model.width / 256.0},
                   model);
  return model;
}

/// The unused table.
constexpr std::string_view kMiniCpmIgnored[] = {"rope_factors_*.weight"};

}  // namespace

extern constexpr Architecture kMiniCpm{.read = read_minicpm, .ignored = kMiniCpmIgnored};

}  // namespace tenon
