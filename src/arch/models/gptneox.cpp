// GPT-NeoX and Pythia (general.architecture "gptneox").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Black et al. 2022, arXiv 2204.06745: parallel attention and feed-forward, each with its own
/// norm; sequential in some models.
ModelSpec read_gptneox(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .norm = NormKind::Layer});
  const bool parallel = keys.flag("use_parallel_residual").value_or(true);
  for (LayerSpec& layer : model.layers) {
    layer.parallel = parallel;
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    layer.attention.output_bias = Presence::Required;
    set_plain_gelu(keys, layer);
  }
  return model;
}

}  // namespace

extern constexpr Architecture kGptNeoX{.read = read_gptneox};

}  // namespace tenon
