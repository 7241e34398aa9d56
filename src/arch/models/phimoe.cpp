// Phi-3.5-MoE and Phi-mini-MoE (general.architecture "phimoe").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// `router_jitter_noise` of the published models, on both sides of a logit; no key gives it.
constexpr float kPhiMoeCloseness = 2 * 0.01f;

/// Abdin et al. 2024, arXiv 2404.14219: layer norms with RMS norms' key of epsilon, biases, experts
/// selected by SparseMixer.
ModelSpec read_phimoe(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES, .longrope = true});
  read_longrope(keys, model);
  read_experts(keys, {.normalised = false}, model);
  model.output_norm.kind = NormKind::Layer;
  model.output_bias = Presence::Required;
  for (LayerSpec& layer : model.layers) {
    layer.attention_norm.kind = layer.feed_forward_norm.kind = NormKind::Layer;
    layer.attention.qkv_bias = layer.attention.output_bias = Presence::Required;
    layer.feed_forward.experts.closeness = kPhiMoeCloseness;
    layer.feed_forward.experts.selection_bias = Presence::Absent;
  }
  return model;
}

constexpr KeyValue kPhiMoeExample[] = {{"expert_count", 8u}, {"expert_used_count", 2u}};

/// The unused table.
constexpr std::string_view kPhiMoeIgnored[] = {"rope_factors_*.weight"};

}  // namespace

extern constexpr Architecture kPhiMoe{
    .read = read_phimoe, .example = kPhiMoeExample, .ignored = kPhiMoeIgnored};

}  // namespace tenon
