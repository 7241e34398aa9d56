// Reads the metadata of recurrent layers into a LayerSpec.
#pragma once

#include <cstdint>

#include "arch/blocks/delta_rule.h"
#include "arch/blocks/state_space.h"
#include "arch/blocks/wkv.h"
#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// Reads ssm.* for a version of Mamba. Throws Format for inconsistent sizes.
StateSpaceSpec read_state_space(const Keys& keys, MambaVersion version);
void set_state_space(const Keys& keys, const StateSpaceSpec& spec, LayerSpec& layer);

/// Reads ssm.* for the gated delta rule: it replaces attention in all layers but each
/// `full_attention_interval`-th.
void read_gated_delta_net(const Keys& keys, bool interleaved, bool fused_rates, ModelSpec& model);
/// Reads the sizes of Kimi Delta Attention (arXiv 2510.26692): a decay per channel.
DeltaSpec read_kimi_delta(const Keys& keys, uint32_t heads, float epsilon);
void set_delta_rule(const Keys& keys, const DeltaSpec& spec, LayerSpec& layer);

/// Reads wkv.head_size, token_shift_count and the ranks of RWKV 7 or 6. Throws Format if heads do
/// not divide the width.
///   shifts  WkvSpec::shifts; the key must agree
WkvSpec read_wkv7(const Keys& keys, uint32_t width, uint32_t shifts);
WkvSpec read_wkv6(const Keys& keys, uint32_t width, uint32_t shifts);
/// Gives all layers this mixer instead of attention.
void set_wkv(const Keys& keys, const WkvSpec& spec, ModelSpec& model);

/// Throws Format if a layer has a state of more than SpecLimits::kStateValues.
void check_state_values(const Keys& keys, uint64_t values);

}  // namespace tenon
