// Common part of the time mixes of RWKV 6 and 7.
#pragma once

#include <string>
#include <string_view>

#include "arch/blocks/wkv.h"
#include "program/operations.h"

namespace tenon {

class TimeMix {
 protected:
  TimeMix(BuildContext& context, uint32_t layer)
      : context_(context),
        ops_(context.ops),
        layer_(layer),
        spec_(context.layer(layer).specs.get<WkvSpec>()) {}

  [[nodiscard]] std::string name(std::string_view tensor) const {
    return context_.in_layer(layer_, tensor);
  }
  [[nodiscard]] uint64_t width() const { return context_.model.width; }
  Slot vector(std::string_view tensor) {
    return context_.tensors.weight(name(tensor), {width()}, TensorRole::Norm);
  }
  /// The previous token's row minus x, [T, width].
  Slot step_back(Slot x) {
    return op::add(ops_, op::token_shift(ops_, x, context_.state(layer_, kWkvState)),
                   op::scale(ops_, x, -1.0f));
  }
  /// The state of the recurrence, after the rows of the token shifts.
  [[nodiscard]] auto heads_state() {
    return context_.state(layer_, kWkvState, spec_.shifts * context_.model.width);
  }
  Slot head_norm(Slot x) {
    if (spec_.head_norm == Presence::Optional &&
        !context_.tensors.has(name("time_mix_ln.weight"))) {
      return x;
    }
    const Slot normed = op::layer_norm(ops_, x, kNoSlot, kNoSlot, spec_.epsilon, spec_.head_dim);
    const Slot bias =
        context_.tensors.weight(name("time_mix_ln.bias"), {width()}, TensorRole::Bias);
    return op::add(ops_, op::mul(ops_, normed, vector("time_mix_ln.weight")), bias);
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  uint32_t layer_;
  const WkvSpec& spec_;
};

}  // namespace tenon
