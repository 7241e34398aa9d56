// The metadata of recurrent layers, read into a LayerSpec.
#pragma once

#include <cstdint>

#include "arch/keys/keys.h"
#include "arch/model_spec.h"

namespace tenon {

/// ssm.* of a version of Mamba. Throws Format for sizes that do not fit together.
StateSpaceSpec read_state_space(const Keys& keys, MambaVersion version);
void set_state_space(const Keys& keys, const StateSpaceSpec& spec, LayerSpec& layer);

/// ssm.* of the gated delta rule: gives all layers but each `full_attention_interval`-th the mixer
/// in place of attention.
void read_gated_delta_net(const Keys& keys, bool interleaved, bool fused_rates, ModelSpec& model);
void set_delta_rule(const Keys& keys, const DeltaSpec& spec, LayerSpec& layer);

/// wkv.head_size, token_shift_count and the ranks of RWKV 7 or 6. Throws Format for heads that do not
/// divide the width.
///   shifts  WkvSpec::shifts, which the key can only repeat
WkvSpec read_wkv7(const Keys& keys, uint32_t width, uint32_t shifts);
WkvSpec read_wkv6(const Keys& keys, uint32_t width, uint32_t shifts);
/// Gives it to all layers, in place of attention.
void set_wkv(const Keys& keys, const WkvSpec& spec, ModelSpec& model);

/// What the recurrences of the layer keep. Throws Format for more than SpecLimits::kStateValues.
void set_state_values(const Keys& keys, uint64_t values, LayerSpec& layer);

}  // namespace tenon
