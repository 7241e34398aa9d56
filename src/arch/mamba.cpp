// Mamba (general.architecture "mamba").
#include "arch/architecture.h"
#include "arch/recurrent_keys.h"

namespace tenon {
namespace {

/// Gu and Dao 2023, arXiv 2312.00752: selective state spaces alone, without feed-forward.
ModelSpec read_mamba(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::First);
  for (LayerSpec& layer : model.layers) set_state_space(keys, spec, layer);
  return model;
}

constexpr KeyValue kMambaExample[] = {{"attention.head_count", 0u}, {"attention.head_count_kv", 0u},
                                      {"feed_forward_length", 0u},  {"ssm.conv_kernel", 4u},
                                      {"ssm.inner_size", 512u},     {"ssm.state_size", 16u},
                                      {"ssm.time_step_rank", 16u}};

}  // namespace

extern constexpr Architecture kMamba{.read = read_mamba, .example = kMambaExample};

}  // namespace tenon
