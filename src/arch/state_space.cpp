// Mamba and Mamba 2, in the order in which a token passes through them.
#include "arch/state_space.h"

#include <string>

namespace tenon {
namespace {

class StateSpaceBlock {
 public:
  StateSpaceBlock(BuildContext& context, uint32_t layer)
      : context_(context), layer_(layer), spec_(context.layer(layer).state_space) {}

  /// x -> [T, inner], gated. Gu and Dao 2023, section 3: the time step and its B and C depend on x.
  Slot mamba(Slot x) {
    const RowSource in = input_rows(2 * uint64_t{spec_.inner});
    const Slot gate = project(x, in, " (z)", spec_.inner, spec_.inner);
    const Slot mixed = convolved(project(x, in, " (x)", 0, spec_.inner));
    const RowSource rows = context_.tensors.tensor(
        name("ssm_x.weight"), {spec_.rank + 2 * uint64_t{spec_.state}, spec_.inner},
        TensorRole::Matrix);
    const auto part = [&](const char* suffix, uint64_t first, uint64_t count) {
      return project(mixed, rows, suffix, first, count, "ssm_x.weight");
    };
    const Slot low = part(" (dt)", 0, spec_.rank);
    const Slot step =
        context_.linear(low, name("ssm_dt"), spec_.inner, spec_.rank, Presence::Required);
    SsmScanInputs scan;
    scan.x = mixed;
    scan.dt = context_.ops.activate(TENON_ACTIVATION_SOFTPLUS, step);
    scan.a = context_.tensors.weight(name("ssm_a"), {spec_.inner, spec_.state}, TensorRole::Decay);
    scan.b = part(" (B)", spec_.rank, spec_.state);
    scan.c = part(" (C)", spec_.rank + spec_.state, spec_.state);
    scan.d = context_.tensors.weight(name("ssm_d"), {spec_.inner}, TensorRole::Norm);
    return context_.ops.glu(TENON_ACTIVATION_SILU, gate, scanned(scan));
  }

  /// x -> [T, inner], gated. Dao and Gu 2024, section 7: all that depends on x comes from one
  /// matrix.
  Slot mamba2(Slot x) {
    const uint64_t inner = spec_.inner;
    const uint64_t shared = uint64_t{spec_.groups} * spec_.state;
    const RowSource in = input_rows(2 * inner + 2 * shared + spec_.heads);
    const Slot gate = project(x, in, " (z)", 0, inner);
    const Slot mixed = convolved(project(x, in, " (xBC)", inner, spec_.conv_columns()));
    const Slot bias = context_.tensors.weight(name("ssm_dt.bias"), {spec_.heads}, TensorRole::Bias);
    const Slot weight = context_.tensors.bind(name("ssm_in.weight (dt)"),
                                              in.rows(2 * inner + 2 * shared, spec_.heads));
    const auto part = [&](uint64_t first, uint64_t count) {
      return context_.ops.slice(mixed, spec_.conv_columns(), static_cast<uint32_t>(first),
                                static_cast<uint32_t>(count));
    };
    SsmScanInputs scan;
    scan.x = part(0, inner);
    scan.dt =
        context_.ops.activate(TENON_ACTIVATION_SOFTPLUS, context_.ops.linear(x, weight, bias));
    scan.a = context_.tensors.weight(name("ssm_a"), {spec_.heads, 1}, TensorRole::Decay);
    scan.b = part(inner, shared);
    scan.c = part(inner + shared, shared);
    scan.d = context_.tensors.bind(
        name("ssm_d"),
        context_.tensors.tensor(name("ssm_d"), {spec_.heads, 1}, TensorRole::Norm).as_row());
    return grouped_norm(context_.ops.glu(TENON_ACTIVATION_SILU, gate, scanned(scan)));
  }

 private:
  [[nodiscard]] std::string name(const char* tensor) const {
    return BuildContext::in_layer(layer_, tensor);
  }
  [[nodiscard]] RowSource input_rows(uint64_t rows) {
    return context_.tensors.tensor(name("ssm_in.weight"), {rows, context_.model.width},
                                   TensorRole::Matrix);
  }
  Slot project(Slot x, const RowSource& source, const char* suffix, uint64_t first, uint64_t rows,
               const char* tensor = "ssm_in.weight") {
    return context_.ops.linear(
        x, context_.tensors.bind(name(tensor) + suffix, source.rows(first, rows)));
  }

  Slot convolved(Slot x) {
    const uint64_t columns = spec_.conv_columns();
    const Slot weight = context_.tensors.weight(name("ssm_conv1d.weight"), {columns, spec_.kernel},
                                                TensorRole::Convolution);
    const Slot bias =
        context_.tensors.optional_weight(name("ssm_conv1d.bias"), {columns}, TensorRole::Bias);
    return context_.ops.activate(TENON_ACTIVATION_SILU,
                                 context_.ops.conv(x, weight, bias, context_.state(layer_, 0)));
  }

  Slot scanned(const SsmScanInputs& inputs) {
    SsmScanOptions options;
    options.state = context_.state(layer_, spec_.conv_values());
    options.heads = spec_.heads;
    options.groups = spec_.groups;
    options.size = spec_.state;
    return context_.ops.ssm_scan(inputs, options);
  }

  /// RMS norm of each group of columns; "ssm_norm" [groups, inner / groups].
  Slot grouped_norm(Slot x) {
    const uint64_t size = spec_.inner / spec_.groups;
    const auto weight = context_.tensors.optional_tensor(name("ssm_norm.weight"),
                                                         {spec_.groups, size}, TensorRole::Norm);
    if (!weight) return x;
    const Slot normed =
        context_.ops.rms_norm(x, kNoSlot, spec_.epsilon, static_cast<uint32_t>(size));
    return context_.ops.mul(normed,
                            context_.tensors.bind(name("ssm_norm.weight"), weight->as_row()));
  }

  BuildContext& context_;
  uint32_t layer_;
  const StateSpaceSpec& spec_;
};

}  // namespace

Slot state_space(BuildContext& context, uint32_t layer, Slot x) {
  StateSpaceBlock block(context, layer);
  const StateSpaceSpec& spec = context.layer(layer).state_space;
  const Slot scanned = spec.is_first() ? block.mamba(x) : block.mamba2(x);
  return context.linear(context.wanted_rows(layer, scanned),
                        BuildContext::in_layer(layer, "ssm_out"), context.model.width, spec.inner);
}

}  // namespace tenon
