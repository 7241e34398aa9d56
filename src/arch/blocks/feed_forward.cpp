// Feed-forward blocks: dense, with and without a gate, and mixtures of experts.
#include "arch/blocks/feed_forward.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "program/operations.h"

namespace tenon {
namespace {

// Least divisor of weights, for smaller sums, as in llama.cpp.
constexpr float kMinWeightSum = 6.103515625e-5f;

struct GateUp {
  Slot gate;
  Slot up;
};

GateUp separate_gate_up(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const auto project = [&](std::string_view name) {
    return context.linear(x, context.in_layer(layer, name), spec.width, context.model.width,
                          spec.bias);
  };
  const Slot gate = project("ffn_gate");
  return {gate, project("ffn_up")};
}

/// `tensor` [2 rows, .]: the rows of the gate, then those of up.
GateUp fused_gate_up(BuildContext& context, uint32_t layer, Slot x, std::string_view tensor,
                     uint64_t rows) {
  const std::string name = context.in_layer(layer, tensor);
  const RowSource both =
      context.tensors.tensor(name, {2 * rows, context.model.width}, TensorRole::Matrix);
  const auto project = [&](const char* part, uint64_t first) {
    return op::linear(context.ops, x, context.tensors.bind(name + part, both.rows(first, rows)));
  };
  const Slot gate = project(" (gate)", 0);
  return {gate, project(" (up)", rows)};
}

/// Each value minus its row's mean and `deviations` standard deviations, at least 0.
Slot above_cut(BuildContext& context, Slot x, uint32_t columns, float deviations) {
  constexpr float kEpsilon = 1e-12f;
  ProgramBuilder& ops = context.ops;
  const Slot unit = op::layer_norm(ops, x, kNoSlot, kNoSlot, kEpsilon);
  const Slot deviation = op::scale(ops, op::sum_segments(ops, op::mul(ops, x, unit), columns),
                                   1.0f / static_cast<float>(columns));
  // 1 (unit - deviations)
  const Slot one = op::activate(ops, TENON_ACTIVATION_EXP, op::scale(ops, unit, 0.0f));
  const Slot over = op::glu(
      ops, GluOptions{.activation = TENON_ACTIVATION_RELU, .up_offset = -deviations}, one, unit);
  return op::mul(ops, op::activate(ops, TENON_ACTIVATION_RELU, over), deviation);
}

/// act(gate) up, with the variants of `spec`.
Slot gated(BuildContext& context, uint32_t layer, const GateSpec& spec, const GateUp& both) {
  if (spec.situ > 0.0f) {
    const Slot bent = op::soft_cap(context.ops, both.gate, spec.situ);
    const Slot up =
        spec.situ_up > 0.0f ? op::soft_cap(context.ops, both.up, spec.situ_up) : both.up;
    return op::mul(context.ops, op::sigmoid_gate(context.ops, bent, both.gate), up);
  }
  const uint32_t activation = context.layer(layer).feed_forward.activation;
  if (activation == TENON_ACTIVATION_RELU_SQUARED) {  // which no glu has, and nothing bends
    return op::mul(context.ops, op::activate(context.ops, activation, both.gate), both.up);
  }
  return op::glu(context.ops,
                 {.activation = activation,
                  .alpha = spec.alpha,
                  .limit = spec.limit,
                  .up_offset = spec.up_offset,
                  .limit_after = spec.limit_after},
                 both.gate, both.up);
}

/// act(up), for a feed-forward without a gate.
Slot activated(BuildContext& context, uint32_t layer, Slot up) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  if (spec.activation != TENON_ACTIVATION_XIELU) {
    return op::activate(context.ops, spec.activation, up);
  }
  const XieluSpec& xielu = spec.xielu;
  return op::xielu(context.ops,
                   {.alpha_p = xielu.alpha_p,
                    .alpha_n = xielu.alpha_n,
                    .beta = xielu.beta,
                    .epsilon = xielu.epsilon},
                   up);
}

Slot shared_expert(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const uint64_t inner = spec.experts.shared_width;
  const uint64_t width = context.model.width;
  const auto project = [&](Slot from, std::string_view name, uint64_t rows, uint64_t columns) {
    return context.linear(from, context.in_layer(layer, name), rows, columns);
  };
  Slot hidden;
  if (spec.kind == FeedForwardKind::Plain) {
    hidden = activated(context, layer, project(x, "ffn_up_shexp", inner, width));
  } else if (spec.experts.shared_fused) {
    hidden = gated(context, layer, spec.gate,
                   fused_gate_up(context, layer, x, "ffn_up_shexp.weight", inner));
  } else {
    const Slot gate = project(x, "ffn_gate_shexp", inner, width);
    hidden = gated(context, layer, spec.gate, {gate, project(x, "ffn_up_shexp", inner, width)});
  }
  if (!spec.experts.shared_gate) return project(hidden, "ffn_down_shexp", width, inner);
  const Slot share = project(x, "ffn_gate_inp_shexp", 1, width);
  return op::sigmoid_gate(context.ops, project(hidden, "ffn_down_shexp", width, inner), share);
}

RouteOptions route_options(const ExpertSpec& spec, bool is_biased) {
  RouteOptions route;
  route.used = spec.used;
  route.scale = spec.scale;
  route.groups = spec.groups;
  route.groups_used = spec.groups_used;
  if (spec.closeness > 0.0f) {
    route.scoring = TENON_MOE_SPARSE_MIXER;
    route.closeness = spec.closeness;
  } else if (spec.sigmoid || spec.sqrt_softplus) {
    route.scoring = spec.sigmoid ? TENON_MOE_SIGMOID : TENON_MOE_SQRT_SOFTPLUS;
    route.normalise = spec.normalised;
  } else if (spec.normalised && spec.groups == 1 && !is_biased) {
    route.scoring = TENON_MOE_SOFTMAX_CHOSEN;  // the same, from fewer exponentials
  } else {
    route.scoring = TENON_MOE_SOFTMAX_ALL;
    route.normalise = spec.normalised;
  }
  route.min_sum = kMinWeightSum;
  return route;
}

/// Projections of all experts in a layer.
class Experts {
 public:
  Experts(BuildContext& context, uint32_t layer, const Route& chosen)
      : context_(context), layer_(layer), chosen_(chosen) {}

  /// Concatenated results of each row's experts; `name` [experts, rows, columns].
  Slot project(Slot x, std::string_view name, uint64_t rows, uint64_t columns) {
    MoeLinearOptions how = options(name, rows);
    if (spec().weighs_input) how.weights = ExpertWeights::Inputs;
    return op::moe_linear(context_.ops, x, chosen_, weight(name, rows, columns), how);
  }
  /// Like project(), but the weighted sum of the results.
  Slot sum(Slot x, std::string_view name, uint64_t rows, uint64_t columns) {
    MoeLinearOptions how = options(name, rows);
    how.sum = true;
    if (!spec().weighs_input) how.weights = ExpertWeights::Outputs;
    return op::moe_linear(context_.ops, x, chosen_, weight(name, rows, columns), how);
  }
  /// Like project() and sum(), with the matrix of each expert's group; `name` [groups, rows,
  /// columns].
  Slot project_by_group(Slot x, std::string_view name, uint64_t rows, uint64_t columns) {
    return op::moe_linear(context_.ops, x, chosen_, group_weight(name, rows, columns),
                          spec().count);
  }
  Slot sum_by_group(Slot x, std::string_view name, uint64_t rows, uint64_t columns) {
    return op::moe_linear_sum(context_.ops, x, chosen_, group_weight(name, rows, columns),
                              spec().count);
  }
  /// "ffn_gate_up_exps" [experts, 2 rows, columns], which converters may write for any
  /// architecture: per expert the gate's rows, then those of up. Nothing if the file has two
  /// tensors.
  std::optional<GateUp> fused(Slot x, uint64_t rows, uint64_t columns) {
    const std::string stem = context_.in_layer(layer_, "ffn_gate_up_exps");
    const std::string name = stem + ".weight";
    const auto both = context_.tensors.optional_tensor(name, {spec().count, 2 * rows, columns},
                                                       TensorRole::Matrix);
    if (!both) return std::nullopt;
    std::optional<RowSource> biases;
    if (spec().bias == Presence::Required) {
      biases = context_.tensors.tensor(stem + ".bias", {spec().count, 2 * rows}, TensorRole::Bias);
    }
    const auto part = [&](const char* suffix, uint64_t first) {
      std::vector<RowSource> of_experts;
      for (uint64_t expert = 0; expert < spec().count; ++expert) {
        of_experts.push_back(both->rows(expert * 2 * rows + first, rows));
      }
      const Slot slot = context_.tensors.bind(name + suffix, RowSource::stacked(of_experts));
      MoeLinearOptions how;
      how.experts = spec().count;
      if (biases) {
        how.bias = context_.tensors.bind(stem + ".bias" + suffix, biases->columns(first, rows));
      }
      if (spec().weighs_input) how.weights = ExpertWeights::Inputs;
      return op::moe_linear(context_.ops, x, chosen_, slot, how);
    };
    const Slot gate = part(" (gate)", 0);
    return GateUp{gate, part(" (up)", rows)};
  }

 private:
  [[nodiscard]] const ExpertSpec& spec() const {
    return context_.layer(layer_).feed_forward.experts;
  }
  Slot weight(std::string_view name, uint64_t rows, uint64_t columns) {
    const std::string stacked = context_.in_layer(layer_, std::string(name) + ".weight");
    if (const auto apart = separate(stacked, name, rows, columns)) {
      return context_.tensors.bind(stacked, *apart);
    }
    return context_.tensors.weight(stacked, {spec().count, rows, columns}, TensorRole::Matrix);
  }
  /// Older files: "ffn_gate.0", "ffn_gate.1", ... [rows, columns] instead of "ffn_gate_exps".
  std::optional<RowSource> separate(const std::string& stacked, std::string_view name,
                                    uint64_t rows, uint64_t columns) {
    const std::string stem = context_.in_layer(layer_, name.substr(0, name.rfind('_'))) + ".";
    if (context_.tensors.has(stacked) || !context_.tensors.has(stem + "0.weight")) {
      return std::nullopt;
    }
    std::vector<RowSource> of_experts;
    bool is_mixed = false;
    for (uint32_t expert = 0; expert < spec().count; ++expert) {
      const std::string one = stem + std::to_string(expert) + ".weight";
      of_experts.push_back(context_.tensors.tensor(one, {rows, columns}, TensorRole::Matrix));
      const Format format = of_experts.back().format();
      const Format first = of_experts.front().format();
      if (format == first) continue;
      if (is_memory_format(format) || is_memory_format(first)) {
        is_mixed = true;
        continue;
      }
      fail(Code::Unsupported, "tensor \"{}\" has another format than \"{}0.weight\"", one, stem);
    }
    if (is_mixed) {
      for (RowSource& expert : of_experts) expert = expert.decoded();
    }
    return RowSource::stacked(of_experts);
  }
  Slot group_weight(std::string_view tensor, uint64_t rows, uint64_t columns) {
    const std::string name = context_.in_layer(layer_, std::string(tensor) + ".weight");
    const uint64_t size = spec().adjugate.group;
    const RowSource groups =
        context_.tensors.tensor(name, {spec().count / size, rows, columns}, TensorRole::Matrix);
    std::vector<RowSource> of_experts;
    for (uint64_t expert = 0; expert < spec().count; ++expert) {
      of_experts.push_back(groups.rows(expert / size * rows, rows));
    }
    return context_.tensors.bind(name, RowSource::stacked(of_experts));
  }
  MoeLinearOptions options(std::string_view name, uint64_t rows) {
    MoeLinearOptions how;
    how.experts = spec().count;
    if (spec().bias == Presence::Required) {
      how.bias = context_.tensors.weight(context_.in_layer(layer_, std::string(name) + ".bias"),
                                         {spec().count, rows}, TensorRole::Bias);
    }
    return how;
  }

  BuildContext& context_;
  uint32_t layer_;
  const Route& chosen_;
};

}  // namespace

Slot gated_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  GateUp both = spec.fused_gate_up ? fused_gate_up(context, layer, x, "ffn_up.weight", spec.width)
                                   : separate_gate_up(context, layer, x);
  if (spec.gate_cut) both.gate = above_cut(context, both.gate, spec.width, *spec.gate_cut);
  Slot hidden = gated(context, layer, spec.gate, both);
  if (const NormSpec& norm = spec.hidden_norm; !norm.name.empty()) {
    hidden = context.norm(hidden, context.in_layer(layer, norm.name), norm, spec.width);
  }
  return context.linear(hidden, context.in_layer(layer, "ffn_down"), context.model.width,
                        spec.width, spec.bias);
}

Slot plain_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const Slot up = context.linear(x, context.in_layer(layer, "ffn_up"), spec.width,
                                 context.model.width, spec.bias);
  return context.linear(activated(context, layer, up), context.in_layer(layer, "ffn_down"),
                        context.model.width, spec.width, spec.bias);
}

namespace {

/// "ffn_gate_tid2eid" [vocab, used]: experts of each token, for the rows of x.
Slot told_experts(BuildContext& context, uint32_t layer) {
  const ExpertSpec& spec = context.layer(layer).feed_forward.experts;
  if (!spec.told_by_token) return kNoSlot;
  const std::string name = context.in_layer(layer, "ffn_gate_tid2eid.weight");
  const RowSource table =
      context.tensors.numbers(name, {context.model.vocab_rows, spec.used}, spec.count);
  const Slot rows = op::embed(context.ops, context.tensors.bind(name, table));
  return context.wanted_rows(layer, rows);
}

}  // namespace

Route expert_routes(BuildContext& context, uint32_t layer, Slot x, Slot expert_scale) {
  const ExpertSpec& spec = context.layer(layer).feed_forward.experts;
  const std::string router = context.in_layer(layer, "ffn_gate_inp");
  const Slot weight = context.tensors.weight(router + ".weight", {spec.count, context.model.width},
                                             TensorRole::Router);
  Slot logits = op::linear(context.ops, x, weight, context.bias(router, spec.count, spec.bias));
  if (spec.router_soft_cap > 0.0f) logits = op::soft_cap(context.ops, logits, spec.router_soft_cap);
  const std::string probs = context.in_layer(layer, "exp_probs_b");
  Slot selection_bias = context.bias(probs, spec.count, spec.selection_bias);
  if (selection_bias == kNoSlot && spec.selection_bias == Presence::Optional) {
    // Some converters omit ".bias" from the name.
    selection_bias = context.tensors.optional_weight(probs, {spec.count}, TensorRole::Bias);
  }
  RouteOptions options = route_options(spec, selection_bias != kNoSlot);
  options.selection_bias = selection_bias;
  options.expert_scale = expert_scale;
  options.numbers = told_experts(context, layer);
  return op::moe_route(context.ops, logits, options);
}

Slot routed_experts(BuildContext& context, uint32_t layer, Slot x, const Route& chosen,
                    uint64_t columns) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const ExpertSpec& experts = spec.experts;
  Experts matrices(context, layer, chosen);
  Slot hidden;
  if (spec.kind == FeedForwardKind::Plain) {
    hidden = activated(context, layer, matrices.project(x, "ffn_up_exps", experts.width, columns));
  } else if (const auto both = matrices.fused(x, experts.width, columns)) {
    hidden = gated(context, layer, experts.gate, *both);
  } else {
    const Slot gate = matrices.project(x, "ffn_gate_exps", experts.width, columns);
    hidden = gated(context, layer, experts.gate,
                   {gate, matrices.project(x, "ffn_up_exps", experts.width, columns)});
  }
  return matrices.sum(hidden, "ffn_down_exps", columns, experts.width);
}

namespace {

/// Sum of the small experts in the selected experts' groups.
Slot adjugate_experts(BuildContext& context, uint32_t layer, Slot x, const Route& chosen) {
  const ExpertSpec& spec = context.layer(layer).feed_forward.experts;
  const uint64_t width = context.model.width;
  Experts matrices(context, layer, chosen);
  const Slot gate = matrices.project_by_group(x, "ffn_gate_chexps", spec.adjugate.width, width);
  const Slot hidden =
      gated(context, layer, spec.gate,
            {gate, matrices.project_by_group(x, "ffn_up_chexps", spec.adjugate.width, width)});
  return context.scaled(
      matrices.sum_by_group(hidden, "ffn_down_chexps", width, spec.adjugate.width),
      spec.adjugate.scale);
}

}  // namespace

Slot expert_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const ExpertSpec& experts = context.layer(layer).feed_forward.experts;
  const Slot shared = experts.shared_width > 0 ? shared_expert(context, layer, x) : kNoSlot;
  const Route chosen = expert_routes(context, layer, x);
  Slot sum;
  if (experts.latent_width > 0) {
    const std::string name = context.in_layer(layer, experts.latent_name);
    const uint64_t latent = experts.latent_width;
    const Slot low = context.linear(x, name + "_down", latent, context.model.width);
    Slot given = routed_experts(context, layer, low, chosen, latent);
    if (experts.latent_norm != Presence::Absent) {
      const Slot weight =
          context.tensors.optional_weight(name + "_norm.weight", {latent}, TensorRole::Norm);
      if (weight != kNoSlot) {
        given = op::rms_norm(context.ops, given, weight, context.model.output_norm.epsilon);
      }
    }
    sum = context.linear(given, name + "_up", context.model.width, latent);
  } else {
    sum = routed_experts(context, layer, x, chosen, context.model.width);
  }
  if (experts.adjugate.group > 0) {
    sum = op::add(context.ops, sum, adjugate_experts(context, layer, x, chosen));
  }
  if (shared == kNoSlot) return sum;
  return context.scaled(op::add(context.ops, sum, shared), experts.sum_scale);
}

namespace {

Slot dense_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  switch (context.layer(layer).feed_forward.kind) {
    case FeedForwardKind::Gated:
      return gated_feed_forward(context, layer, x);
    case FeedForwardKind::Plain:
      return plain_feed_forward(context, layer, x);
  }
  return kNoSlot;
}

}  // namespace

Slot feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const ExpertSpec& experts = context.layer(layer).feed_forward.experts;
  if (experts.count == 0) return dense_feed_forward(context, layer, x);
  const Slot routed = expert_feed_forward(context, layer, x);
  if (experts.dense_beside == 0.0f) return routed;
  return context.scaled(op::add(context.ops, routed, dense_feed_forward(context, layer, x)),
                        experts.dense_beside);
}

}  // namespace tenon
