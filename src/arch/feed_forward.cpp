// Feed-forward blocks: dense, gated and not, and mixtures of experts.
#include "arch/feed_forward.h"

#include <string>
#include <string_view>

namespace tenon {
namespace {

struct GateUp {
  Slot gate;
  Slot up;
};

GateUp separate_gate_up(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const auto project = [&](std::string_view name) {
    return context.linear(x, BuildContext::in_layer(layer, name), spec.width, context.model.width,
                          spec.bias);
  };
  const Slot gate = project("ffn_gate");
  return {gate, project("ffn_up")};
}

/// "ffn_up" [2 width, .]: the rows of the gate, then those of up.
GateUp fused_gate_up(BuildContext& context, uint32_t layer, Slot x) {
  const uint64_t rows = context.layer(layer).feed_forward.width;
  const std::string name = BuildContext::in_layer(layer, "ffn_up.weight");
  const RowSource both =
      context.tensors.tensor(name, {2 * rows, context.model.width}, TensorRole::Matrix);
  const auto project = [&](const char* part, uint64_t first) {
    return context.ops.linear(x, context.tensors.bind(name + part, both.rows(first, rows)));
  };
  const Slot gate = project(" (gate)", 0);
  return {gate, project(" (up)", rows)};
}

Slot shared_expert(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const uint64_t inner = spec.experts.shared_width;
  const uint64_t width = context.model.width;
  const auto project = [&](Slot from, std::string_view name, uint64_t rows, uint64_t columns) {
    return context.linear(from, BuildContext::in_layer(layer, name), rows, columns);
  };
  const Slot gate = project(x, "ffn_gate_shexp", inner, width);
  const Slot up = project(x, "ffn_up_shexp", inner, width);
  const Slot hidden = context.ops.glu(spec.activation, gate, up);
  if (!spec.experts.shared_gate) return project(hidden, "ffn_down_shexp", width, inner);
  const Slot share = project(x, "ffn_gate_inp_shexp", 1, width);
  return context.ops.sigmoid_gate(project(hidden, "ffn_down_shexp", width, inner), share);
}

/// Row by row the experts and their weights.
Route routes(BuildContext& context, uint32_t layer, Slot x) {
  const ExpertSpec& spec = context.layer(layer).feed_forward.experts;
  const Slot router = context.tensors.weight(BuildContext::in_layer(layer, "ffn_gate_inp.weight"),
                                             {spec.count, context.model.width}, TensorRole::Router);
  RouteOptions route;
  route.used = spec.used;
  route.scoring = spec.normalised ? TENON_MOE_SOFTMAX_CHOSEN : TENON_MOE_SOFTMAX_ALL;
  route.scale = spec.scale;
  return context.ops.moe_route(context.ops.linear(x, router), route);
}

}  // namespace

Slot gated_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const GateUp both =
      spec.fused_gate_up ? fused_gate_up(context, layer, x) : separate_gate_up(context, layer, x);
  return context.linear(context.ops.glu(spec.activation, both.gate, both.up),
                        BuildContext::in_layer(layer, "ffn_down"), context.model.width, spec.width,
                        spec.bias);
}

Slot squared_relu_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const Slot up = context.linear(x, BuildContext::in_layer(layer, "ffn_up"), spec.width,
                                 context.model.width, spec.bias);
  // relu(u) u = relu(u)^2
  return context.linear(context.ops.glu(TENON_ACTIVATION_RELU, up, up),
                        BuildContext::in_layer(layer, "ffn_down"), context.model.width, spec.width,
                        spec.bias);
}

Slot expert_feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  const ExpertSpec& experts = spec.experts;
  const Slot shared = experts.shared_width > 0 ? shared_expert(context, layer, x) : kNoSlot;
  const Route chosen = routes(context, layer, x);
  const auto weight = [&](std::string_view name, uint64_t rows, uint64_t columns) {
    return context.tensors.weight(BuildContext::in_layer(layer, name),
                                  {experts.count, rows, columns}, TensorRole::Matrix);
  };
  const uint64_t width = context.model.width;
  ProgramBuilder& ops = context.ops;
  const Slot gate = ops.moe_linear(x, chosen, weight("ffn_gate_exps.weight", experts.width, width),
                                   experts.count);
  const Slot up =
      ops.moe_linear(x, chosen, weight("ffn_up_exps.weight", experts.width, width), experts.count);
  const Slot sum =
      ops.moe_linear_sum(ops.glu(spec.activation, gate, up), chosen,
                         weight("ffn_down_exps.weight", width, experts.width), experts.count);
  return shared == kNoSlot ? sum : ops.add(sum, shared);
}

Slot feed_forward(BuildContext& context, uint32_t layer, Slot x) {
  const FeedForwardSpec& spec = context.layer(layer).feed_forward;
  if (spec.experts.count > 0) return expert_feed_forward(context, layer, x);
  switch (spec.kind) {
    case FeedForwardKind::Gated:
      return gated_feed_forward(context, layer, x);
    case FeedForwardKind::SquaredRelu:
      return squared_relu_feed_forward(context, layer, x);
  }
  return kNoSlot;
}

}  // namespace tenon
