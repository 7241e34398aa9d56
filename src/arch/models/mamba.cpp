// Mamba and Falcon Mamba (general.architecture "mamba").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Gu and Dao 2023, arXiv 2312.00752: selective state spaces without feed-forward. Falcon Mamba
/// (TII 2024, arXiv 2410.05355) normalises the scan's inputs.
ModelSpec read_mamba(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  StateSpaceSpec spec = read_state_space(keys, MambaVersion::First);
  if (keys.flag("ssm.dt_b_c_rms").value_or(false)) spec.norms = ScanNorms::Unweighted;
  for (LayerSpec& layer : model.layers) set_state_space(keys, spec, layer);
  return model;
}

constexpr KeyValue kMambaExample[] = {{"attention.head_count", 0u}, {"attention.head_count_kv", 0u},
                                      {"feed_forward_length", 0u},  {"ssm.conv_kernel", 4u},
                                      {"ssm.inner_size", 512u},     {"ssm.state_size", 16u},
                                      {"ssm.time_step_rank", 16u},  {"ssm.dt_b_c_rms", false}};

}  // namespace

extern constexpr Architecture kMamba{.read = read_mamba, .example = kMambaExample};

}  // namespace tenon
