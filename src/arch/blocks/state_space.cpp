// Mamba, Mamba 2 and PLaMo 2's variant, in the order in which a token passes through them.
#include "arch/blocks/state_space.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "program/operations.h"

namespace tenon {
namespace {

constexpr std::string_view kSsmState = "state space";

class StateSpaceBlock {
 public:
  StateSpaceBlock(BuildContext& context, uint32_t layer, const StateSpaceSpec& spec)
      : context_(context), layer_(layer), spec_(spec) {}

  /// x -> [T, inner], gated. Gu and Dao 2023, section 3: the time step, B and C depend on x.
  Slot mamba(Slot x) {
    const auto [gate, mixed] = gate_and_mixed(x);
    const RowSource rows = context_.tensors.tensor(
        name("ssm_x.weight"), {spec_.rank + 2 * uint64_t{spec_.state}, spec_.inner},
        TensorRole::Matrix);
    const auto part = [&, &input = mixed](const char* suffix, const char* norm, uint64_t first,
                                          uint64_t count) {
      return normed(project(input, rows, suffix, first, count, "ssm_x.weight"), norm, count);
    };
    const bool plamo = spec_.version == MambaVersion::Plamo;  // "ssm_x" is B, C, dt; else dt, B, C
    const uint64_t first_b = plamo ? 0 : spec_.rank;
    const Slot low =
        part(" (dt)", "ssm_dt_norm", plamo ? 2 * uint64_t{spec_.state} : 0, spec_.rank);
    const Slot step =
        context_.linear(low, name("ssm_dt"), spec_.heads, spec_.rank, Presence::Required);
    SsmScanInputs scan;
    scan.x = mixed;
    scan.dt = op::activate(context_.ops, TENON_ACTIVATION_SOFTPLUS, step);
    scan.a = decays();
    scan.b = part(" (B)", "ssm_b_norm", first_b, spec_.state);
    scan.c = part(" (C)", "ssm_c_norm", first_b + spec_.state, spec_.state);
    scan.d = context_.tensors.weight(name("ssm_d"), {spec_.heads}, TensorRole::Norm);
    return op::glu(context_.ops, TENON_ACTIVATION_SILU, gate, scanned(scan));
  }

  /// x -> [T, inner], gated. Dao and Gu 2024, section 7: one matrix makes all inputs from x.
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
      return op::slice(context_.ops, mixed, spec_.conv_columns(), static_cast<uint32_t>(first),
                       static_cast<uint32_t>(count));
    };
    SsmScanInputs scan;
    scan.x = part(0, inner);
    scan.dt = op::activate(context_.ops, TENON_ACTIVATION_SOFTPLUS,
                           op::linear(context_.ops, x, weight, bias));
    scan.a = context_.tensors.weight(name("ssm_a"), {spec_.heads, 1}, TensorRole::Decay);
    scan.b = part(inner, shared);
    scan.c = part(inner + shared, shared);
    scan.d = context_.tensors.bind(
        name("ssm_d"),
        context_.tensors.tensor(name("ssm_d"), {spec_.heads, 1}, TensorRole::Norm).as_row());
    return grouped_norm(op::glu(context_.ops, TENON_ACTIVATION_SILU, gate, scanned(scan)));
  }

 private:
  [[nodiscard]] std::string name(const char* tensor) const {
    return context_.in_layer(layer_, tensor);
  }
  [[nodiscard]] RowSource input_rows(uint64_t rows) {
    return context_.tensors.tensor(name("ssm_in.weight"), {rows, context_.model.width},
                                   TensorRole::Matrix);
  }
  struct GateAndMixed {
    Slot gate;
    Slot mixed;  ///< convolved
  };
  /// "ssm_in" [2 inner, .]: the convolution's rows, then the gate's. PLaMo 2 groups them by head,
  /// gate first.
  GateAndMixed gate_and_mixed(Slot x) {
    const uint64_t inner = spec_.inner;
    const RowSource in = input_rows(2 * inner);
    const auto part = [&](const char* suffix, uint64_t kind) {
      const bool by_head = spec_.version == MambaVersion::Plamo;
      const RowSource rows =
          by_head ? in.in_turn(1 - kind, 2, inner / spec_.heads) : in.rows(kind * inner, inner);
      return project(x, rows, suffix, 0, inner);
    };
    const Slot gate = part(" (z)", 1);
    return {gate, convolved(part(" (x)", 0))};
  }

  /// [heads, state], or one per head.
  Slot decays() {
    if (spec_.version == MambaVersion::First) {
      return context_.tensors.weight(name("ssm_a"), {spec_.heads, spec_.state}, TensorRole::Decay);
    }
    const RowSource rates =
        context_.tensors.tensor(name("ssm_a"), {spec_.heads}, TensorRole::Decay);
    return context_.tensors.bind(name("ssm_a"), rates.transposed());
  }

  Slot normed(Slot x, const char* norm, uint64_t columns) {
    if (spec_.norms == ScanNorms::None) return x;
    const bool weighted = spec_.norms == ScanNorms::Weighted;
    return context_.norm(x, name(norm),
                         {.name = norm,
                          .kind = weighted ? NormKind::Rms : NormKind::RmsUnweighted,
                          .epsilon = spec_.epsilon,
                          .suffix = spec_.norm_suffix},
                         columns);
  }

  Slot project(Slot x, const RowSource& source, const char* suffix, uint64_t first, uint64_t rows,
               const char* tensor = "ssm_in.weight") {
    return op::linear(context_.ops, x,
                      context_.tensors.bind(name(tensor) + suffix, source.rows(first, rows)));
  }

  Slot convolved(Slot x) {
    const uint64_t columns = spec_.conv_columns();
    const Slot weight = context_.tensors.weight(name("ssm_conv1d.weight"), {columns, spec_.kernel},
                                                TensorRole::Convolution);
    const Slot bias =
        context_.tensors.optional_weight(name("ssm_conv1d.bias"), {columns}, TensorRole::Bias);
    return op::activate(context_.ops, TENON_ACTIVATION_SILU,
                        op::conv(context_.ops, x, weight, bias, context_.state(layer_, kSsmState)));
  }

  Slot scanned(const SsmScanInputs& inputs) {
    SsmScanOptions options;
    options.state = context_.state(layer_, kSsmState, spec_.conv_values());
    options.heads = spec_.heads;
    options.groups = spec_.groups;
    options.size = spec_.state;
    return op::ssm_scan(context_.ops, inputs, options);
  }

  /// RMS norm per group of columns; "ssm_norm" [groups, inner / groups].
  Slot grouped_norm(Slot x) {
    const uint64_t size = spec_.inner / spec_.groups;
    const auto weight = context_.tensors.optional_tensor(name("ssm_norm.weight"),
                                                         {spec_.groups, size}, TensorRole::Norm);
    if (!weight) return x;
    const Slot normed =
        op::rms_norm(context_.ops, x, kNoSlot, spec_.epsilon, static_cast<uint32_t>(size));
    return op::mul(context_.ops, normed,
                   context_.tensors.bind(name("ssm_norm.weight"), weight->as_row()));
  }

  BuildContext& context_;
  uint32_t layer_;
  const StateSpaceSpec& spec_;
};

}  // namespace

void StateSpaceSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kSsmState, state_values());
}

Slot StateSpaceSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  StateSpaceBlock block(context, layer, *this);
  const Slot scanned = version == MambaVersion::Second ? block.mamba2(x) : block.mamba(x);
  return context.linear(context.wanted_rows(layer, scanned), context.in_layer(layer, "ssm_out"),
                        context.model.width, inner);
}

}  // namespace tenon
