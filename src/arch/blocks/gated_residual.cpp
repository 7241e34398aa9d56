// Gated residual streams, in the order in which a token passes through them.
#include "arch/blocks/gated_residual.h"

#include "arch/blocks/feed_forward.h"
#include "arch/blocks/hyper_connection.h"
#include "arch/blocks/mixer.h"
#include "arch/blocks/ngram_embedding.h"
#include "arch/decoder.h"
#include "program/operations.h"

namespace tenon {
namespace {

class GatedResidualDecoder {
 public:
  explicit GatedResidualDecoder(BuildContext& context)
      : context_(context),
        ops_(context.ops),
        spec_(context.model.specs.get<HyperConnectionSpec>()) {}

  Slot build() {
    const Slot x = embedding(context_);
    Slot streams = x;
    for (uint32_t i = 1; i < spec_.streams; ++i) streams = op::concat(ops_, streams, x);
    for (uint32_t layer = 0; layer < context_.model.layers.size(); ++layer) {
      streams = layer_of(layer, streams);
    }
    return output_head(context_, read(normed(streams, "output_hc_"), "output_hc_"));
  }

 private:
  Slot layer_of(uint32_t layer, Slot streams) {
    if (context_.layer(layer).specs.find<NgramSpec>() != nullptr) {
      streams = op::add(ops_, streams, ngram_embedding(context_, layer, streams));
    }
    const std::string attention = context_.in_layer(layer, "hc_attn_");
    const Slot before = normed(streams, attention);
    const Slot mixed = mixer(context_, layer, read(before, attention));
    streams = written(context_.wanted_rows(layer, streams), mixed,
                      context_.wanted_rows(layer, factors(before, attention)));
    const std::string feeding = context_.in_layer(layer, "hc_ffn_");
    const Slot between = normed(streams, feeding);
    const Slot given = feed_forward(context_, layer, read(between, feeding));
    return written(streams, given, factors(between, feeding));
  }

  [[nodiscard]] uint64_t columns() const { return spec_.columns(context_.model.width); }
  [[nodiscard]] float share() const { return 1.0f / static_cast<float>(spec_.streams); }

  Slot normed(Slot streams, const std::string& prefix) {
    return norm_of_streams(context_, streams, prefix + "norm");
  }

  /// [., width]: input of a block.
  Slot read(Slot normed, const std::string& prefix) {
    const Slot low = context_.linear(normed, prefix + "down", spec_.low_rank, columns());
    const Slot gate =
        context_.linear(op::activate(ops_, TENON_ACTIVATION_SILU, op::scale(ops_, low, share())),
                        prefix + "up", columns(), spec_.low_rank);
    const Slot gated = op::sigmoid_gate(ops_, normed, gate);
    return op::scale(ops_, op::mix_streams(ops_, gated, {.streams = spec_.streams}), share());
  }

  /// [., streams]: factors of a block's result.
  Slot factors(Slot normed, const std::string& prefix) {
    const Slot logits = context_.linear(normed, prefix + "inject", spec_.streams, columns());
    const Slot halves =
        op::activate(ops_, TENON_ACTIVATION_SIGMOID, op::scale(ops_, logits, share()));
    return op::scale(ops_, halves, spec_.magnitude);
  }

  Slot written(Slot streams, Slot added, Slot factors) {
    return op::mix_streams(
        ops_, streams,
        {.streams = spec_.streams, .results = spec_.streams, .added = added, .factors = factors});
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const HyperConnectionSpec& spec_;
};

}  // namespace

Slot norm_of_streams(BuildContext& context, Slot x, const std::string& name) {
  const ModelSpec& model = context.model;
  const uint64_t columns = model.specs.get<HyperConnectionSpec>().columns(model.width);
  const Slot weight = context.tensors.weight(name + ".weight", {columns}, TensorRole::Norm);
  return op::mul(context.ops,
                 op::rms_norm(context.ops, x, kNoSlot, model.output_norm.epsilon, model.width),
                 weight);
}

Slot build_gated_residual_decoder(BuildContext& context) {
  return GatedResidualDecoder(context).build();
}

}  // namespace tenon
