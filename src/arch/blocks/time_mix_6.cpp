// The time mix of RWKV 6, in the order of the paper's section 4, and its gated linear attention.
#include <cmath>
#include <string>
#include <string_view>

#include "arch/blocks/time_mix.h"

namespace tenon {
namespace {

class TimeMix6 : private TimeMix {
 public:
  TimeMix6(BuildContext& context, uint32_t layer) : TimeMix(context, layer) {}

  /// x [T, width], normalised -> [T, width].
  Slot build(Slot x) {
    const Slot step = step_back(x);
    const Slot moves = share_moves(x, step);
    read_shares();
    const auto mixed = [&](uint32_t which) {
      const uint32_t columns = context_.model.width;
      const Slot move = op::slice(ops_, moves, kMixes * columns, which * columns, columns);
      return op::add(ops_, x, op::mul(ops_, step, op::add(ops_, move, shares_[which])));
    };
    Wkv6Inputs inputs;
    inputs.w = decays(mixed(0));
    inputs.k = each_head(project(mixed(1), "time_mix_key", kv_columns()));
    inputs.v = each_head(project(mixed(2), "time_mix_value", kv_columns()));
    inputs.r = project(mixed(3), "time_mix_receptance", width());
    const Slot gate = context_.linear(mixed(4), name("time_mix_gate"), width(), width());
    if (spec_.linear) {
      // k (1 - w)
      inputs.k = op::add(ops_, inputs.k, op::scale(ops_, op::mul(ops_, inputs.k, inputs.w), -1.0f));
      inputs.r = op::scale(ops_, inputs.r, 1.0f / std::sqrt(static_cast<float>(spec_.head_dim)));
      return op::sigmoid_gate(ops_, read(inputs), gate);
    }
    inputs.u = context_.tensors.bind(
        name("time_mix_first.weight"),
        context_.tensors
            .tensor(name("time_mix_first.weight"), {heads(), spec_.head_dim}, TensorRole::Norm)
            .as_row());
    return op::glu(ops_, TENON_ACTIVATION_SILU, gate, head_norm(read(inputs)));
  }

 private:
  static constexpr uint32_t kMixes = 5;  // w, k, v, r, g, as the file has them

  [[nodiscard]] uint32_t heads() const { return context_.model.width / spec_.head_dim; }
  [[nodiscard]] uint64_t kv_columns() const { return uint64_t{spec_.kv_heads} * spec_.head_dim; }
  Slot matrix(std::string_view tensor, uint64_t rows, uint64_t columns) {
    return context_.tensors.weight(name(tensor), {rows, columns}, TensorRole::Matrix);
  }
  /// Linear attention inherits Qwen's matrices and, if present, their biases.
  Slot project(Slot x, std::string_view tensor, uint64_t rows) {
    return context_.linear(x, name(tensor), rows, width(),
                           spec_.linear ? Presence::Optional : Presence::Absent);
  }

  /// The paper's ddlerp: x's change of the shares of the previous token, [T, 5 width].
  Slot share_moves(Slot x, Slot step) {
    const Slot first = op::add(ops_, x, op::mul(ops_, step, vector("time_mix_lerp_x.weight")));
    const uint64_t rank = spec_.mix_rank;
    const Slot low =
        op::activate(ops_, TENON_ACTIVATION_TANH,
                     op::linear(ops_, first, matrix("time_mix_w1.weight", kMixes * rank, width())));
    const std::string second = name("time_mix_w2.weight");
    const RowSource rows =
        context_.tensors.tensor(second, {kMixes, width(), rank}, TensorRole::Matrix);
    return op::linear_heads(ops_, low, context_.tensors.bind(second, rows), kMixes);
  }

  /// Reads the shares: "time_mix_lerp_fused" [5, width] or, in older files, five vectors.
  void read_shares() {
    if (context_.tensors.has(name("time_mix_lerp_w.weight"))) {
      constexpr const char* kNames[kMixes] = {"w", "k", "v", "r", "g"};
      for (uint32_t i = 0; i < kMixes; ++i) {
        shares_[i] = vector(std::string("time_mix_lerp_") + kNames[i] + ".weight");
      }
      return;
    }
    const std::string fused = name("time_mix_lerp_fused.weight");
    const RowSource rows = context_.tensors.tensor(fused, {kMixes, width()}, TensorRole::Norm);
    for (uint32_t i = 0; i < kMixes; ++i) {
      shares_[i] = context_.tensors.bind(fused + " " + std::to_string(i), rows.rows(i, 1));
    }
  }

  /// Decay exp(-exp(.)).
  Slot decays(Slot x) {
    const Slot low = op::activate(
        ops_, TENON_ACTIVATION_TANH,
        op::linear(ops_, x, matrix("time_mix_decay_w1.weight", spec_.decay_rank, width())));
    const Slot bias =
        context_.tensors.weight(name("time_mix_decay.weight"), {width()}, TensorRole::Bias);
    const Slot raw =
        op::linear(ops_, low, matrix("time_mix_decay_w2.weight", width(), spec_.decay_rank), bias);
    return op::activate(ops_, TENON_ACTIVATION_EXP,
                        op::scale(ops_, op::activate(ops_, TENON_ACTIVATION_EXP, raw), -1.0f));
  }

  /// x [., kv_heads head_dim] -> [., width]: repeats each head for the heads that share it, by
  /// doubling.
  Slot each_head(Slot x) {
    Slot all = kNoSlot;
    for (uint32_t left = heads() / spec_.kv_heads;; x = op::concat(ops_, x, x, spec_.kv_heads)) {
      if (left % 2 != 0) all = all == kNoSlot ? x : op::concat(ops_, all, x, spec_.kv_heads);
      left /= 2;
      if (left == 0) return all;
    }
  }

  Slot read(const Wkv6Inputs& inputs) { return op::wkv6(ops_, inputs, heads(), heads_state()); }

  Slot shares_[kMixes] = {};
};

}  // namespace

Slot time_mix_6(BuildContext& context, uint32_t layer, Slot x) {
  return TimeMix6(context, layer).build(x);
}

}  // namespace tenon
