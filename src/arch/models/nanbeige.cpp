// Nanbeige 4.2 (general.architecture "nanbeige").
#include <vector>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Nanbeige 2026 (as in llama.cpp): Llama whose blocks a token passes several times, with a cache
/// per pass. The output norm applies between two passes.
ModelSpec read_nanbeige(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  const auto blocks = static_cast<uint32_t>(model.layers.size());
  const uint32_t loops = keys.count_or("num_loops", 1, 1, SpecLimits::kLayers / blocks);
  if (loops == 1) return model;
  const bool norms = !keys.flag("skip_loop_final_norm").value_or(false);
  const std::vector<LayerSpec> once = model.layers;
  for (uint32_t loop = 1; loop < loops; ++loop) {
    model.layers.insert(model.layers.end(), once.begin(), once.end());
  }
  for (uint32_t i = 0; i < model.layers.size(); ++i) {
    LayerSpec& layer = model.layers[i];
    layer.block = i % blocks;
    if (norms && i % blocks == 0 && i > 0) layer.entry_norm = model.output_norm;
  }
  return model;
}

constexpr KeyValue kNanbeigeExample[] = {{"num_loops", 2u}};

}  // namespace

extern constexpr Architecture kNanbeige{.read = read_nanbeige, .example = kNanbeigeExample};

}  // namespace tenon
