// Mamba 2 (general.architecture "mamba2").
#include "arch/architecture.h"
#include "arch/keys/recurrent_keys.h"

namespace tenon {
namespace {

/// Dao and Gu 2024, arXiv 2405.21060: a decay per head, all inputs of the scan from one matrix.
ModelSpec read_mamba2(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.hybrid = true});
  const StateSpaceSpec spec = read_state_space(keys, MambaVersion::Second);
  for (LayerSpec& layer : model.layers) set_state_space(keys, spec, layer);
  return model;
}

constexpr KeyValue kMamba2Example[] = {
    {"attention.head_count", 0u}, {"attention.head_count_kv", 0u}, {"feed_forward_length", 0u},
    {"ssm.conv_kernel", 4u},      {"ssm.inner_size", 512u},        {"ssm.state_size", 32u},
    {"ssm.time_step_rank", 8u},   {"ssm.group_count", 2u}};

}  // namespace

extern constexpr Architecture kMamba2{.read = read_mamba2, .example = kMamba2Example};

}  // namespace tenon
