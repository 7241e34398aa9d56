// The time mix of RWKV 7, in the order of the paper's section 4.
#include <string>
#include <string_view>

#include "arch/blocks/time_mix.h"

namespace tenon {
namespace {

class TimeMix7 : private TimeMix {
 public:
  TimeMix7(BuildContext& context, uint32_t layer) : TimeMix(context, layer) {}

  /// x [T, width], normalised -> [T, width].
  Slot build(Slot x) {
    const Slot step = step_back(x);
    mix_weights();
    const auto mixed = [&](size_t which) { return mix(x, step, which); };
    const Slot receptance = project(mixed(0), "time_mix_receptance");
    const Slot decay = decays(mixed(1));
    Slot key = project(mixed(2), "time_mix_key");
    const Slot for_values = mixed(3);
    const Slot value = values(for_values, project(for_values, "time_mix_value"));
    const Slot rate = rates(mixed(4));
    const Slot gate = spec_.gate_rank > 0 ? gates(mixed(5)) : kNoSlot;

    const Slot unit = op::l2_norm(ops_, op::mul(ops_, key, vector("time_mix_k_k.weight")), 1e-12f,
                                  spec_.head_dim);
    // k (1 + (a - 1) k_a) = k + (a k - k) k_a
    const Slot change = op::add(ops_, op::mul(ops_, rate, key), op::scale(ops_, key, -1.0f));
    key = op::add(ops_, key, op::mul(ops_, change, vector("time_mix_k_a.weight")));

    Wkv7Inputs inputs{.r = receptance,
                      .w = decay,
                      .k = key,
                      .v = value,
                      .a = op::scale(ops_, unit, -1.0f),
                      .b = op::mul(ops_, unit, rate)};
    Slot out = op::wkv7(ops_, inputs, context_.model.width / spec_.head_dim, heads_state());
    out = head_norm(out);
    const Slot match = op::sum_segments(
        ops_, op::mul(ops_, op::mul(ops_, receptance, key), vector("time_mix_r_k.weight")),
        spec_.head_dim);
    out = op::add(ops_, out, op::mul(ops_, value, match));
    return gate == kNoSlot ? out : op::mul(ops_, out, gate);
  }

 private:
  static constexpr size_t kMixes = 6;  // r, w, k, v, a, g, as the file has them; without a gate, 5

  Slot project(Slot x, std::string_view tensor) {
    return context_.linear(x, name(tensor), width(), width());
  }
  /// Binds the rows of "time_mix_lerp_fused" for mix(): x + step * row.
  void mix_weights() {
    const size_t count = spec_.gate_rank > 0 ? kMixes : kMixes - 1;
    const std::string fused = name("time_mix_lerp_fused.weight");
    const RowSource rows = context_.tensors.tensor(fused, {count, width()}, TensorRole::Norm);
    for (size_t i = 0; i < count; ++i) {
      mixes_[i] = context_.tensors.bind(fused + " " + std::to_string(i), rows.rows(i, 1));
    }
  }
  Slot mix(Slot x, Slot step, size_t which) {
    return op::add(ops_, x, op::mul(ops_, step, mixes_[which]));
  }
  /// second(act(first x)) + bias; first [rank, width], second [width, rank].
  Slot low_rank(Slot x, const std::string& stem, uint32_t rank, uint32_t activation, bool biased) {
    const auto matrix = [&](const char* which, uint64_t rows, uint64_t columns) {
      return context_.tensors.weight(name(stem + which), {rows, columns}, TensorRole::Matrix);
    };
    Slot low = op::linear(ops_, x, matrix("1.weight", rank, width()));
    if (activation != kNoActivation) low = op::activate(ops_, activation, low);
    const Slot bias =
        biased ? context_.tensors.weight(name(stem + "0.weight"), {width()}, TensorRole::Bias)
               : kNoSlot;
    return op::linear(ops_, low, matrix("2.weight", width(), rank), bias);
  }
  /// Decay exp(-e^(-1/2) sigmoid(.)), the paper's equation for w.
  Slot decays(Slot x) {
    const Slot raw = low_rank(x, "time_mix_w", spec_.decay_rank, TENON_ACTIVATION_TANH, true);
    return op::activate(
        ops_, TENON_ACTIVATION_EXP,
        op::scale(ops_, op::activate(ops_, TENON_ACTIVATION_SIGMOID, raw), -0.60653065971f));
  }
  Slot rates(Slot x) {
    return op::activate(ops_, TENON_ACTIVATION_SIGMOID,
                        low_rank(x, "time_mix_a", spec_.rate_rank, kNoActivation, true));
  }
  Slot gates(Slot x) {
    return low_rank(x, "time_mix_g", spec_.gate_rank, TENON_ACTIVATION_SIGMOID, false);
  }
  /// Moves the values of later layers a share of the way to those of the first layer.
  Slot values(Slot x, Slot own) {
    Slot& first = context_.shared("wkv values of the first layer");
    if (layer_ == 0) return first = own;
    const Slot share =
        op::activate(ops_, TENON_ACTIVATION_SIGMOID,
                     low_rank(x, "time_mix_v", spec_.value_rank, kNoActivation, true));
    return op::add(ops_, own,
                   op::mul(ops_, op::add(ops_, first, op::scale(ops_, own, -1.0f)), share));
  }

  static constexpr uint32_t kNoActivation = UINT32_MAX;
  Slot mixes_[kMixes] = {};
};

}  // namespace

Slot time_mix_7(BuildContext& context, uint32_t layer, Slot x) {
  return TimeMix7(context, layer).build(x);
}

}  // namespace tenon
