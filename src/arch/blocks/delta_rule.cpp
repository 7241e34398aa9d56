// The delta rule, in the order in which a token passes through it.
#include "arch/blocks/delta_rule.h"

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/operations.h"

namespace tenon {
namespace {

constexpr std::string_view kDeltaState = "delta rule";

class DeltaRuleBlock {
 public:
  DeltaRuleBlock(BuildContext& context, uint32_t layer, const DeltaSpec& spec)
      : context_(context), ops_(context.ops), layer_(layer), spec_(spec) {}

  Slot gated_delta_net(Slot x) {
    DeltaRuleInputs inputs;
    fused_qkv(x, inputs);
    scalar_rates(x, inputs);
    const Slot gate =
        context_.linear(x, name("attn_gate"), spec_.value_columns(), context_.model.width);
    const Slot out = normed(op::delta_rule(ops_, inputs, options()));
    return spec_.sigmoid_gate ? op::sigmoid_gate(ops_, out, gate)
                              : op::glu(ops_, TENON_ACTIVATION_SILU, gate, out);
  }

  Slot kimi_delta_attention(Slot x) {
    DeltaRuleInputs inputs;
    separate_qkv(x, inputs);
    channel_decay(x, inputs);
    inputs.beta =
        op::activate(ops_, TENON_ACTIVATION_SIGMOID, project(x, "ssm_beta", spec_.value_heads));
    return op::sigmoid_gate(ops_, normed(op::delta_rule(ops_, inputs, options())), channel_gate(x));
  }

 private:
  [[nodiscard]] std::string name(std::string_view tensor) const {
    return context_.in_layer(layer_, tensor);
  }
  Slot project(Slot x, std::string_view tensor, uint64_t rows) {
    return context_.linear(x, name(tensor), rows, context_.model.width);
  }

  Slot matrix(std::string_view tensor, uint64_t rows) {
    return context_.tensors.weight(name(std::string(tensor) + ".weight"),
                                   {rows, context_.model.width}, TensorRole::Matrix);
  }

  [[nodiscard]] DeltaRuleOptions options() const {
    DeltaRuleOptions options;
    options.state = context_.state(layer_, kDeltaState, spec_.conv_values());
    options.key_heads = spec_.key_heads;
    options.value_heads = spec_.value_heads;
    options.interleaved = spec_.interleaved;
    options.scale = 1.0f / std::sqrt(static_cast<float>(spec_.key_dim));
    return options;
  }

  /// silu(conv(x)), with its state at `offset`.
  Slot convolved(Slot x, std::string_view tensor, uint32_t columns, uint32_t offset) {
    // Some files have [columns, 1, kernel].
    const RowSource weight =
        context_.tensors.tensor(name(tensor),
                                spec_.each_channel ? std::vector<uint64_t>{columns, 1, spec_.kernel}
                                                   : std::vector<uint64_t>{columns, spec_.kernel},
                                TensorRole::Convolution);
    const Slot mixed = op::conv(ops_, x, context_.tensors.bind(name(tensor), weight), kNoSlot,
                                context_.state(layer_, kDeltaState, offset));
    return op::activate(ops_, TENON_ACTIVATION_SILU, mixed);
  }

  Slot unit_heads(Slot x) { return op::l2_norm(ops_, x, spec_.epsilon, spec_.key_dim); }

  void fused_qkv(Slot x, DeltaRuleInputs& inputs) {
    const uint32_t all = spec_.conv_columns();
    const Slot mixed = convolved(project(x, "attn_qkv", all), "ssm_conv1d.weight", all, 0);
    const uint32_t keys = spec_.key_columns();
    inputs.q = unit_heads(op::slice(ops_, mixed, all, 0, keys));
    inputs.k = unit_heads(op::slice(ops_, mixed, all, keys, keys));
    inputs.v = op::slice(ops_, mixed, all, 2 * keys, spec_.value_columns());
  }

  void separate_qkv(Slot x, DeltaRuleInputs& inputs) {
    uint32_t offset = 0;
    const auto part = [&](std::string_view matrix, std::string_view filter, uint32_t columns) {
      const Slot mixed = convolved(project(x, matrix, columns), filter, columns, offset);
      offset += (spec_.kernel - 1) * columns;
      return mixed;
    };
    inputs.q = unit_heads(part("attn_q", "ssm_conv1d_q.weight", spec_.key_columns()));
    inputs.k = unit_heads(part("attn_k", "ssm_conv1d_k.weight", spec_.key_columns()));
    inputs.v = part("attn_v", "ssm_conv1d_v.weight", spec_.value_columns());
  }

  /// beta = sigmoid(b x), decay = a softplus(alpha x + bias): one of each per value head.
  void scalar_rates(Slot x, DeltaRuleInputs& inputs) {
    const uint32_t heads = spec_.value_heads;
    const Slot bias = context_.tensors.weight(name("ssm_dt.bias"), {heads}, TensorRole::Bias);
    const auto [alpha, beta] = spec_.fused_rates ? fused_rates() : separate_rates();
    const Slot rate = context_.tensors.weight(name("ssm_a"), {heads}, TensorRole::Decay);
    inputs.beta = op::activate(ops_, TENON_ACTIVATION_SIGMOID, op::linear(ops_, x, beta));
    inputs.decay = op::mul(
        ops_, op::activate(ops_, TENON_ACTIVATION_SOFTPLUS, op::linear(ops_, x, alpha, bias)),
        rate);
  }

  std::pair<Slot, Slot> separate_rates() {
    const auto weight = [&](std::string_view tensor) {
      return context_.tensors.weight(name(tensor), {spec_.value_heads, context_.model.width},
                                     TensorRole::Matrix);
    };
    const Slot alpha = weight("ssm_alpha.weight");
    return {alpha, weight("ssm_beta.weight")};
  }

  /// "ssm_ba": per key head the rows of beta of its value heads, then those of alpha.
  std::pair<Slot, Slot> fused_rates() {
    const uint64_t heads = spec_.value_heads;
    const uint64_t share = heads / spec_.key_heads;
    const std::string both = name("ssm_ba.weight");
    const RowSource rows =
        context_.tensors.tensor(both, {2 * heads, context_.model.width}, TensorRole::Matrix);
    const Slot alpha = context_.tensors.bind(both + " (alpha)", rows.in_turn(1, 2, share));
    return {alpha, context_.tensors.bind(both + " (beta)", rows.in_turn(0, 2, share))};
  }

  /// [., value_columns]: gate of Kimi Delta Attention's result.
  Slot channel_gate(Slot x) {
    const uint64_t columns = spec_.value_columns();
    if (spec_.full_gate) return project(x, "ssm_g", columns);
    if (spec_.full_rank) return project(x, "ssm_g_a", columns);
    return low_rank(x, "ssm_g_a", "ssm_g_b", columns, kNoSlot);
  }

  /// a [1, heads].
  Slot channel_rate() {
    const uint64_t heads = spec_.value_heads;
    if (spec_.negative_rate) {
      return context_.tensors.weight(name("ssm_a"), {heads}, TensorRole::Decay);
    }
    return context_.tensors.bind(
        name("ssm_a"),
        context_.tensors.tensor(name("ssm_a"), {heads, 1}, TensorRole::Decay).as_row());
  }

  /// decay = a softplus(f x + bias) with an a per head; or as lower_bound says.
  void channel_decay(Slot x, DeltaRuleInputs& inputs) {
    const uint32_t columns = spec_.value_heads * spec_.key_dim;
    const Slot bias = context_.tensors.weight(name("ssm_dt.bias"), {columns}, TensorRole::Bias);
    const Slot from = spec_.full_rank ? op::linear(ops_, x, matrix("ssm_f_a", columns), bias)
                                      : low_rank(x, "ssm_f_a", "ssm_f_b", columns, bias);
    const Slot rate = channel_rate();
    if (spec_.lower_bound < 0.0f) {
      const Slot product =
          context_.scaled(op::mul(ops_, from, rate), spec_.negative_rate ? -1.0f : 1.0f);
      const Slot share = op::activate(ops_, TENON_ACTIVATION_SIGMOID, product);
      inputs.decay = op::scale(ops_, share, spec_.lower_bound);
    } else {
      inputs.decay = op::mul(ops_, op::activate(ops_, TENON_ACTIVATION_SOFTPLUS, from), rate);
    }
  }

  /// second(first(x)) + bias, through as many values as a head has.
  Slot low_rank(Slot x, std::string_view first, std::string_view second, uint64_t rows, Slot bias) {
    const Slot low = project(x, first, spec_.key_dim);
    const Slot weight = context_.tensors.weight(name(std::string(second) + ".weight"),
                                                {rows, spec_.key_dim}, TensorRole::Matrix);
    return op::linear(ops_, low, weight, bias);
  }

  Slot normed(Slot x) {
    const NormSpec norm{"ssm_norm", NormKind::Rms, spec_.epsilon};
    return context_.norm(x, name("ssm_norm"), norm, spec_.value_dim, spec_.value_dim);
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  uint32_t layer_;
  const DeltaSpec& spec_;
};

}  // namespace

void DeltaSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kDeltaState, state_values());
}

Slot DeltaSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  DeltaRuleBlock block(context, layer, *this);
  const Slot mixed = each_channel ? block.kimi_delta_attention(x) : block.gated_delta_net(x);
  return context.linear(context.wanted_rows(layer, mixed),
                        context.in_layer(layer, each_channel ? "attn_output" : "ssm_out"),
                        context.model.width, value_columns());
}

}  // namespace tenon
