// Phi-3 and Phi-4 (general.architecture "phi3").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Abdin et al. 2024: Llama with fused projections. Windows in these files are ignored, as in
/// llama.cpp: in training only some layers had a window, and the files do not say which.
ModelSpec read_phi3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .longrope = true});
  read_longrope(keys, model);
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.feed_forward.fused_gate_up = true;
  }
  return model;
}

/// The unused table.
constexpr std::string_view kPhi3Ignored[] = {"rope_factors_*.weight"};

}  // namespace

extern constexpr Architecture kPhi3{.read = read_phi3, .ignored = kPhi3Ignored};

}  // namespace tenon
