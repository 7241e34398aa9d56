// Hyper-connections, in the order in which a token passes through them.
#include "arch/hyper_connection.h"

#include <string>

#include "arch/decoder.h"
#include "arch/feed_forward.h"
#include "arch/mixer.h"

namespace tenon {
namespace {

class HyperDecoder {
 public:
  explicit HyperDecoder(BuildContext& context)
      : context_(context), ops_(context.ops), spec_(context.model.hyper_connection) {}

  Slot build() {
    const Slot x = embedding(context_);
    Slot streams = x;
    for (uint32_t i = 1; i < spec_.streams; ++i) streams = ops_.concat(streams, x);
    for (uint32_t layer = 0; layer < context_.model.layers.size(); ++layer) {
      streams = layer_of(layer, streams);
    }
    const Slot shares = gates(streams, "output_hc_", 1);
    return output_head(context_, read(streams, ops_.scale(shares, 1.0f, spec_.epsilon)));
  }

 private:
  Slot layer_of(uint32_t layer, Slot streams) {
    const LayerSpec& spec = context_.layer(layer);
    const Entered attended = enter(streams, BuildContext::in_layer(layer, "hc_attn_"));
    const Slot mixed =
        mixer(context_, layer, context_.layer_norm(attended.input, layer, spec.attention_norm));
    streams = written(context_.wanted_rows(layer, streams), mixed,
                      context_.wanted_rows(layer, attended.factors));
    const Entered fed = enter(streams, BuildContext::in_layer(layer, "hc_ffn_"));
    const Slot given = feed_forward(context_, layer,
                                    context_.layer_norm(fed.input, layer, spec.feed_forward_norm));
    return written(streams, given, fed.factors);
  }

  struct Entered {
    Slot input;    ///< [., width], what a block reads
    Slot factors;  ///< [., streams], of what it gives
  };

  Entered enter(Slot streams, const std::string& prefix) {
    const uint32_t n = spec_.streams;
    const Slot both = gates(streams, prefix, 2);
    const Slot shares = ops_.scale(ops_.slice(both, 2 * n, 0, n), 1.0f, spec_.epsilon);
    const Slot factors = ops_.scale(ops_.slice(both, 2 * n, n, n), spec_.magnitude, spec_.epsilon);
    return {read(streams, shares), factors};
  }

  /// Sigmoids of what is linear in the streams, [., kinds * streams]; each kind has its scale.
  Slot gates(Slot streams, const std::string& prefix, uint64_t kinds) {
    const uint64_t rows = kinds * spec_.streams;
    const uint64_t columns = uint64_t{spec_.streams} * context_.model.width;
    const Slot normed = ops_.rms_norm(streams, kNoSlot, context_.model.output_norm.epsilon);
    const Slot logits = context_.linear(normed, prefix + "fn", rows, columns);
    const auto vector = [&](const char* name, uint64_t size, TensorRole role) {
      return context_.tensors.weight(prefix + name, {size}, role);
    };
    const Slot scaled = ops_.mul(logits, vector("scale.weight", kinds, TensorRole::Norm));
    return ops_.activate(TENON_ACTIVATION_SIGMOID,
                         ops_.add(scaled, vector("base.weight", rows, TensorRole::Bias)));
  }

  Slot read(Slot streams, Slot shares) {
    return ops_.mix_streams(streams, {.streams = spec_.streams, .matrix = shares});
  }
  Slot written(Slot streams, Slot added, Slot factors) {
    return ops_.mix_streams(
        streams,
        {.streams = spec_.streams, .results = spec_.streams, .added = added, .factors = factors});
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const HyperConnectionSpec& spec_;
};

}  // namespace

Slot build_hyper_decoder(BuildContext& context) { return HyperDecoder(context).build(); }

}  // namespace tenon
