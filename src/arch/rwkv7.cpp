// RWKV 7 (general.architecture "rwkv7").
#include <string>

#include "arch/architecture.h"
#include "arch/recurrent_keys.h"

namespace tenon {
namespace {

/// Peng et al. 2025, arXiv 2503.14456: no attention; each layer keeps the last two rows that it
/// read and a matrix for each head.
ModelSpec read_rwkv7(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.norm = NormKind::Layer, .hybrid = true});
  WkvSpec spec;
  spec.head_dim = keys.count("wkv.head_size", 1, SpecLimits::kHeadDim);
  if (model.width % spec.head_dim != 0) {
    keys.refuse(Code::Format, "wkv.head_size", "is {}, which does not divide \"{}\" {}",
                spec.head_dim, keys.key("embedding_length"), model.width);
  }
  // Each layer has a channel mix, so no width may be 0.
  (void)keys.counts("feed_forward_length", static_cast<uint32_t>(model.layers.size()), 1,
                    SpecLimits::kWidth);
  const auto rank = [&](std::string_view name) { return keys.count(name, 1, SpecLimits::kWidth); };
  spec.decay_rank = rank("attention.decay_lora_rank");
  spec.rate_rank = rank("attention.iclr_lora_rank");
  spec.value_rank = rank("attention.value_residual_mix_lora_rank");
  spec.gate_rank = rank("attention.gate_lora_rank");
  spec.epsilon = 64e-5f;  // of the norm of heads, whatever that of rows is
  for (LayerSpec& layer : model.layers) {
    layer.wkv = spec;
    set_state_values(keys, uint64_t{model.width} * (2 + spec.head_dim), layer);
  }
  return model;
}

/// One layer's half that mixes positions by a recurrence.
class TimeMix {
 public:
  TimeMix(BuildContext& context, uint32_t layer)
      : context_(context), ops_(context.ops), layer_(layer), spec_(context.layer(layer).wkv) {}

  /// x [T, width], normalised -> [T, width].
  ///   first_values  those of layer 0, which sets them
  Slot build(Slot x, Slot& first_values) {
    const Slot step =
        ops_.add(ops_.token_shift(x, context_.state(layer_, 0)), ops_.scale(x, -1.0f));
    mix_weights();
    const auto mixed = [&](size_t which) { return mix(x, step, which); };
    const Slot receptance = project(mixed(0), "time_mix_receptance");
    const Slot decay = decays(mixed(1));
    Slot key = project(mixed(2), "time_mix_key");
    const Slot for_values = mixed(3);
    const Slot value = values(for_values, project(for_values, "time_mix_value"), first_values);
    const Slot rate = rates(mixed(4));
    const Slot gate = gates(mixed(5));

    const Slot unit =
        ops_.l2_norm(ops_.mul(key, vector("time_mix_k_k.weight")), 1e-12f, spec_.head_dim);
    // k (1 + (a - 1) k_a) = k + (a k - k) k_a
    const Slot change = ops_.add(ops_.mul(rate, key), ops_.scale(key, -1.0f));
    key = ops_.add(key, ops_.mul(change, vector("time_mix_k_a.weight")));

    Wkv7Inputs inputs{.r = receptance,
                      .w = decay,
                      .k = key,
                      .v = value,
                      .a = ops_.scale(unit, -1.0f),
                      .b = ops_.mul(unit, rate)};
    Slot out = ops_.wkv7(inputs, context_.model.width / spec_.head_dim,
                         context_.state(layer_, 2 * context_.model.width));
    out = head_norm(out);
    const Slot match = ops_.sum_segments(
        ops_.mul(ops_.mul(receptance, key), vector("time_mix_r_k.weight")), spec_.head_dim);
    out = ops_.add(out, ops_.mul(value, match));
    return project(ops_.mul(out, gate), "time_mix_output");
  }

 private:
  static constexpr size_t kMixes = 6;  // r, w, k, v, a, g, as the file has them

  [[nodiscard]] std::string name(std::string_view tensor) const {
    return BuildContext::in_layer(layer_, tensor);
  }
  [[nodiscard]] uint64_t width() const { return context_.model.width; }
  Slot vector(std::string_view tensor) {
    return context_.tensors.weight(name(tensor), {width()}, TensorRole::Norm);
  }
  Slot project(Slot x, std::string_view tensor) {
    return context_.linear(x, name(tensor), width(), width());
  }
  /// x + step * the row of "time_mix_lerp_fused".
  void mix_weights() {
    const std::string fused = name("time_mix_lerp_fused.weight");
    const RowSource rows = context_.tensors.tensor(fused, {kMixes, width()}, TensorRole::Norm);
    for (size_t i = 0; i < kMixes; ++i) {
      mixes_[i] = context_.tensors.bind(fused + " " + std::to_string(i), rows.rows(i, 1));
    }
  }
  Slot mix(Slot x, Slot step, size_t which) { return ops_.add(x, ops_.mul(step, mixes_[which])); }
  /// second(act(first x)) + bias; first [rank, width], second [width, rank].
  Slot low_rank(Slot x, const std::string& stem, uint32_t rank, uint32_t activation, bool biased) {
    const auto matrix = [&](const char* which, uint64_t rows, uint64_t columns) {
      return context_.tensors.weight(name(stem + which), {rows, columns}, TensorRole::Matrix);
    };
    Slot low = ops_.linear(x, matrix("1.weight", rank, width()));
    if (activation != kNoActivation) low = ops_.activate(activation, low);
    const Slot bias =
        biased ? context_.tensors.weight(name(stem + "0.weight"), {width()}, TensorRole::Bias)
               : kNoSlot;
    return ops_.linear(low, matrix("2.weight", width(), rank), bias);
  }
  /// exp(-e^(-1/2) sigmoid(.)), the paper's equation for w.
  Slot decays(Slot x) {
    const Slot raw = low_rank(x, "time_mix_w", spec_.decay_rank, TENON_ACTIVATION_TANH, true);
    return ops_.activate(TENON_ACTIVATION_EXP,
                         ops_.scale(ops_.activate(TENON_ACTIVATION_SIGMOID, raw), -0.60653065971f));
  }
  Slot rates(Slot x) {
    return ops_.activate(TENON_ACTIVATION_SIGMOID,
                         low_rank(x, "time_mix_a", spec_.rate_rank, kNoActivation, true));
  }
  Slot gates(Slot x) {
    return low_rank(x, "time_mix_g", spec_.gate_rank, TENON_ACTIVATION_SIGMOID, false);
  }
  /// In later layers a share of the way to the first layer's values.
  Slot values(Slot x, Slot own, Slot& first_values) {
    if (layer_ == 0) return first_values = own;
    const Slot share = ops_.activate(
        TENON_ACTIVATION_SIGMOID, low_rank(x, "time_mix_v", spec_.value_rank, kNoActivation, true));
    return ops_.add(own, ops_.mul(ops_.add(first_values, ops_.scale(own, -1.0f)), share));
  }
  Slot head_norm(Slot x) {
    const Slot normed = ops_.layer_norm(x, kNoSlot, kNoSlot, spec_.epsilon, spec_.head_dim);
    const Slot bias =
        context_.tensors.weight(name("time_mix_ln.bias"), {width()}, TensorRole::Bias);
    return ops_.add(ops_.mul(normed, vector("time_mix_ln.weight")), bias);
  }

  static constexpr uint32_t kNoActivation = UINT32_MAX;
  BuildContext& context_;
  ProgramBuilder& ops_;
  uint32_t layer_;
  const WkvSpec& spec_;
  Slot mixes_[kMixes] = {};
};

/// value(relu(key(x + shift lerp))^2).
Slot channel_mix(BuildContext& context, uint32_t layer, Slot x) {
  ProgramBuilder& ops = context.ops;
  const auto name = [&](const char* tensor) { return BuildContext::in_layer(layer, tensor); };
  const uint64_t width = context.model.width;
  const uint64_t inner = context.layer(layer).feed_forward.width;
  const Slot step =
      ops.add(ops.token_shift(x, context.state(layer, context.model.width)), ops.scale(x, -1.0f));
  const Slot lerp =
      context.tensors.weight(name("channel_mix_lerp_k.weight"), {width}, TensorRole::Norm);
  const Slot mixed = ops.add(x, ops.mul(step, lerp));
  const Slot key = ops.activate(TENON_ACTIVATION_RELU_SQUARED,
                                context.linear(mixed, name("channel_mix_key"), inner, width));
  return context.linear(key, name("channel_mix_value"), width, inner);
}

Slot build_rwkv7(BuildContext& context) {
  const NormSpec& norm = context.model.output_norm;
  Slot x = context.norm(embedding(context), "token_embd_norm", norm, context.model.width);
  Slot first_values = kNoSlot;
  for (uint32_t layer = 0; layer < context.model.layers.size(); ++layer) {
    const auto normed = [&](std::string_view name) {
      return context.layer_norm(x, layer, {name, norm.kind, norm.epsilon});
    };
    x = context.ops.add(x, TimeMix(context, layer).build(normed("attn_norm"), first_values));
    x = context.ops.add(x, channel_mix(context, layer, normed("attn_norm_2")));
  }
  return output_head(context, context.wanted_rows(context.last_layer(), x));
}

/// The first layer has no share of its own values.
constexpr std::string_view kRwkv7Ignored[] = {"blk.0.time_mix_v0.*", "blk.0.time_mix_v1.*",
                                              "blk.0.time_mix_v2.*"};

constexpr KeyValue kRwkv7Example[] = {{"attention.head_count", 0u},
                                      {"attention.head_count_kv", 0u},
                                      {"wkv.head_size", 64u},
                                      {"attention.decay_lora_rank", 16u},
                                      {"attention.iclr_lora_rank", 16u},
                                      {"attention.value_residual_mix_lora_rank", 8u},
                                      {"attention.gate_lora_rank", 24u}};

}  // namespace

extern constexpr Architecture kRwkv7{
    .read = read_rwkv7, .build = build_rwkv7, .example = kRwkv7Example, .ignored = kRwkv7Ignored};

}  // namespace tenon
