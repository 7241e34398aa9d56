// Falcon-H1 (general.architecture "falcon-h1").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// TII 2025, arXiv 2507.22448: attention and Mamba 2 in parallel in each layer.
ModelSpec read_falcon_h1(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  for (LayerSpec& layer : model.layers) {
    set_state_space(keys, spec, layer);
    layer.feed_forward_norm.suffix = {};  // these files omit ".weight"
  }
  return model;
}

constexpr KeyValue kFalconH1Example[] = {{"ssm.conv_kernel", 4u},
                                         {"ssm.inner_size", 512u},
                                         {"ssm.state_size", 32u},
                                         {"ssm.time_step_rank", 8u},
                                         {"ssm.group_count", 2u}};

}  // namespace

extern constexpr Architecture kFalconH1{.read = read_falcon_h1, .example = kFalconH1Example};

}  // namespace tenon
