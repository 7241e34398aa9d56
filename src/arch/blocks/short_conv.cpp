#include "arch/blocks/short_conv.h"

#include <string>
#include <string_view>

#include "program/operations.h"

namespace tenon {
namespace {

constexpr std::string_view kShortConvState = "short convolution";

}  // namespace

void ShortConvSpec::add_caches(BuildContext& context, uint32_t layer) const {
  context.add_state(layer, kShortConvState, state_values(context.model.width));
}

Slot ShortConvSpec::build(BuildContext& context, uint32_t layer, Slot x) const {
  const uint64_t width = context.model.width;
  const std::string in = context.in_layer(layer, "shortconv.in_proj.weight");
  const RowSource rows = context.tensors.tensor(in, {3 * width, width}, TensorRole::Matrix);
  const auto project = [&](const char* part, uint64_t first) {
    return op::linear(context.ops, x, context.tensors.bind(in + part, rows.rows(first, width)));
  };
  const Slot b = project(" (b)", 0);
  const Slot c = project(" (c)", width);
  const Slot gated = op::mul(context.ops, b, project(" (v)", 2 * width));
  const Slot weight = context.tensors.weight(context.in_layer(layer, "shortconv.conv.weight"),
                                             {width, kernel}, TensorRole::Convolution);
  const Slot mixed =
      op::mul(context.ops, c,
              op::conv(context.ops, gated, weight, kNoSlot, context.state(layer, kShortConvState)));
  return context.linear(context.wanted_rows(layer, mixed),
                        context.in_layer(layer, "shortconv.out_proj"), width, width);
}

}  // namespace tenon
