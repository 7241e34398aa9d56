// Jamba (general.architecture "jamba").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Lieber et al. 2024, arXiv 2403.19887: Mamba with inner norms, attention without positions in a
/// few layers, and experts in some, whose weights do not sum to 1.
ModelSpec read_jamba(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  if (keys.count_or("expert_count", 0, 0, SpecLimits::kExperts) > 0) {
    read_experts(keys, {.normalised = false}, model);
  }
  StateSpaceSpec spec = read_state_space(keys, MambaVersion::First);
  spec.norms = ScanNorms::Weighted;
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    if (layer.attention.heads == 0) set_state_space(keys, spec, layer);
  }
  return model;
}

void adapt_jamba(const ModelFile& file, ModelSpec& model) { drop_missing_experts(file, model); }

constexpr int32_t kJambaHeads[] = {0, 0, 2, 0};
constexpr KeyValue kJambaExample[] = {
    {"attention.head_count_kv", std::span<const int32_t>(kJambaHeads)},
    {"ssm.conv_kernel", 4u},
    {"ssm.inner_size", 512u},
    {"ssm.state_size", 16u},
    {"ssm.time_step_rank", 16u},
    {"expert_count", 4u},
    {"expert_used_count", 2u}};

}  // namespace

extern constexpr Architecture kJamba{
    .read = read_jamba, .adapt = adapt_jamba, .example = kJambaExample};

}  // namespace tenon
