// Sizes of recurrences, with ranges and consistency checks.
#include "arch/keys/recurrent_keys.h"

#include "base/error.h"

namespace tenon {
namespace {

WkvSpec read_wkv_heads(const Keys& keys, uint32_t width, uint32_t shifts) {
  WkvSpec spec;
  spec.head_dim = keys.count("wkv.head_size", 1, SpecLimits::kHeadDim);
  if (width % spec.head_dim != 0) {
    keys.refuse(Code::Format, "wkv.head_size", "is {}, which does not divide \"{}\" {}",
                spec.head_dim, keys.key("embedding_length"), width);
  }
  spec.shifts = keys.count_or("token_shift_count", shifts, shifts, shifts);
  return spec;
}

}  // namespace

void check_state_values(const Keys& keys, uint64_t values) {
  if (values > SpecLimits::kStateValues) {
    fail(Code::Format, "{}: a layer of \"{}\" would keep {} values of each sequence, more than {}",
         keys.file_name(), keys.architecture(), values, SpecLimits::kStateValues);
  }
}

StateSpaceSpec read_state_space(const Keys& keys, MambaVersion version) {
  StateSpaceSpec spec;
  spec.version = version;
  spec.inner = keys.count("ssm.inner_size", 1, SpecLimits::kWidth);
  spec.state = keys.count("ssm.state_size", 1, SpecLimits::kHeadDim);
  spec.kernel = keys.count("ssm.conv_kernel", 2, SpecLimits::kConvTaps);
  spec.epsilon = static_cast<float>(
      keys.number("attention.layer_norm_rms_epsilon", SpecLimits::kEpsilon, 1.0));
  const uint32_t rank = keys.count("ssm.time_step_rank", 1, spec.inner);
  if (version == MambaVersion::First) {
    spec.rank = rank;
    spec.heads = spec.inner;
    return spec;
  }
  spec.heads = rank;
  // Files of PLaMo 2, whose heads share B and C, have 0 here.
  if (version == MambaVersion::Second) {
    spec.groups = keys.count_or("ssm.group_count", 1, 1, spec.heads);
  }
  if (spec.inner % spec.heads != 0 || spec.heads % spec.groups != 0 ||
      spec.inner % spec.groups != 0) {
    keys.refuse(Code::Format, "ssm.time_step_rank",
                "is {} heads, which do not share {} columns (\"{}\") and {} groups evenly",
                spec.heads, spec.inner, keys.key("ssm.inner_size"), spec.groups);
  }
  return spec;
}

void set_state_space(const Keys& keys, const StateSpaceSpec& spec, LayerSpec& layer) {
  check_state_values(keys, spec.state_values());
  layer.specs.set(spec);
}

DeltaSpec read_kimi_delta(const Keys& keys, uint32_t heads, float epsilon) {
  DeltaSpec spec;
  spec.key_heads = spec.value_heads = heads;
  spec.key_dim = spec.value_dim = keys.count("kda.head_dim", 1, SpecLimits::kHeadDim);
  spec.kernel = keys.count("ssm.conv_kernel", 2, SpecLimits::kConvTaps);
  spec.each_channel = true;
  spec.epsilon = epsilon;
  return spec;
}

void set_delta_rule(const Keys& keys, const DeltaSpec& spec, LayerSpec& layer) {
  layer.attention = {};
  check_state_values(keys, spec.state_values());
  layer.specs.set(spec);
}

void read_gated_delta_net(const Keys& keys, bool interleaved, bool fused_rates, ModelSpec& model) {
  DeltaSpec spec;
  spec.key_heads = keys.count("ssm.group_count", 1, SpecLimits::kHeads);
  spec.value_heads = keys.count("ssm.time_step_rank", 1, SpecLimits::kHeads);
  spec.key_dim = keys.count("ssm.state_size", 1, SpecLimits::kHeadDim);
  spec.kernel = keys.count("ssm.conv_kernel", 2, SpecLimits::kConvTaps);
  spec.interleaved = interleaved;
  spec.fused_rates = fused_rates;
  spec.epsilon = model.output_norm.epsilon;
  const uint32_t inner = keys.count("ssm.inner_size", 1, SpecLimits::kWidth);
  if (spec.value_heads % spec.key_heads != 0 || inner % spec.value_heads != 0) {
    keys.refuse(Code::Format, "ssm.time_step_rank",
                "is {} heads, which do not share {} key heads and {} columns (\"{}\") evenly",
                spec.value_heads, spec.key_heads, inner, keys.key("ssm.inner_size"));
  }
  spec.value_dim = inner / spec.value_heads;
  const uint32_t interval = keys.count_or("full_attention_interval", 4, 1, SpecLimits::kLayers);
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    if ((layer + 1) % interval != 0) set_delta_rule(keys, spec, model.layers[layer]);
  }
}

WkvSpec read_wkv7(const Keys& keys, uint32_t width, uint32_t shifts) {
  const auto rank = [&](std::string_view name) { return keys.count(name, 1, SpecLimits::kWidth); };
  WkvSpec spec = read_wkv_heads(keys, width, shifts);
  spec.decay_rank = rank("attention.decay_lora_rank");
  spec.rate_rank = rank("attention.iclr_lora_rank");
  spec.value_rank = rank("attention.value_residual_mix_lora_rank");
  spec.gate_rank = keys.count_or("attention.gate_lora_rank", 0, 0, SpecLimits::kWidth);
  return spec;
}

WkvSpec read_wkv6(const Keys& keys, uint32_t width, uint32_t shifts) {
  WkvSpec spec = read_wkv_heads(keys, width, shifts);
  spec.mix_rank = keys.count("time_mix_extra_dim", 1, SpecLimits::kWidth / 5);
  spec.decay_rank = keys.count("time_decay_extra_dim", 1, SpecLimits::kWidth);
  spec.kv_heads = width / spec.head_dim;
  return spec;
}

void set_wkv(const Keys& keys, const WkvSpec& spec, ModelSpec& model) {
  check_state_values(keys, spec.state_values(model.width));
  for (LayerSpec& layer : model.layers) {
    layer.attention = {};
    layer.specs.set(spec);
  }
}

}  // namespace tenon
