// Hyper-connections, in the order in which a token passes through them.
#include "arch/blocks/hyper_connection.h"

#include <string>
#include <utility>

#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "arch/blocks/ngram_embedding.h"
#include "arch/decoder.h"
#include "program/operations.h"

namespace tenon {
namespace {

class HyperDecoder {
 public:
  explicit HyperDecoder(BuildContext& context)
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
    return output_head(context_, left(streams));
  }

 private:
  Slot layer_of(uint32_t layer, Slot streams) {
    const LayerSpec& spec = context_.layer(layer);
    if (spec.specs.find<NgramSpec>() != nullptr)
      streams = add_ngram_values(context_, layer, streams);
    const Entered attended = enter(streams, context_.in_layer(layer, "hc_attn_"));
    const Slot mixed =
        mixer(context_, layer, context_.layer_norm(attended.input, layer, spec.attention_norm));
    streams = written(
        context_.wanted_rows(layer, streams), mixed,
        {.factors = context_.wanted_rows(layer, attended.factors),
         .matrix =
             attended.matrix == kNoSlot ? kNoSlot : context_.wanted_rows(layer, attended.matrix)});
    if (shares_ != kNoSlot) shares_ = context_.wanted_rows(layer, shares_);
    const Entered fed = enter(streams, context_.in_layer(layer, "hc_ffn_"));
    const Slot given = feed_forward(context_, layer,
                                    context_.layer_norm(fed.input, layer, spec.feed_forward_norm));
    return written(streams, given, fed);
  }

  struct Entered {
    Slot input = kNoSlot;    ///< [., width], input of a block
    Slot factors = kNoSlot;  ///< [., streams], factors of its result
    Slot matrix = kNoSlot;   ///< [., streams * streams], or none: streams are not mixed
  };

  Entered enter(Slot streams, const std::string& prefix) {
    const uint32_t n = spec_.streams;
    if (spec_.iterations > 0) return enter_mixed(streams, prefix);
    const Slot both = gates(streams, prefix, 2);
    const Slot shares = op::scale(ops_, op::slice(ops_, both, 2 * n, 0, n), 1.0f, spec_.epsilon);
    const Slot factors =
        op::scale(ops_, op::slice(ops_, both, 2 * n, n, n), spec_.magnitude, spec_.epsilon);
    return {.input = read(streams, shares), .factors = factors};
  }

  Entered enter_mixed(Slot streams, const std::string& prefix) {
    const uint64_t n = spec_.streams;
    const uint64_t all = (2 + n) * n;
    const Slot logits = linear_in(streams, prefix, all);
    const RowSource scales =
        context_.tensors.tensor(prefix + "scale.weight", {3}, TensorRole::Norm);
    const RowSource biases =
        context_.tensors.tensor(prefix + "base.weight", {all}, TensorRole::Bias);
    const auto part = [&](const char* name, uint64_t kind, uint64_t first, uint64_t columns) {
      const Slot scale =
          context_.tensors.bind(prefix + "scale.weight" + name, scales.columns(kind, 1));
      const Slot bias =
          context_.tensors.bind(prefix + "base.weight" + name, biases.columns(first, columns));
      return op::add(ops_, op::mul(ops_, op::slice(ops_, logits, all, first, columns), scale),
                     bias);
    };
    Slot shares =
        op::scale(ops_, op::activate(ops_, TENON_ACTIVATION_SIGMOID, part(" (shares)", 0, 0, n)),
                  1.0f, spec_.epsilon);
    if (spec_.late) std::swap(shares, shares_);
    const Slot factors = op::activate(ops_, TENON_ACTIVATION_SIGMOID, part(" (factors)", 1, n, n));
    return {.input = read(streams, shares),
            .factors = op::scale(ops_, factors, spec_.magnitude),
            .matrix = op::sinkhorn(ops_, part(" (matrix)", 2, 2 * n, n * n),
                                   {spec_.streams, spec_.iterations, spec_.epsilon})};
  }

  /// [., rows], linear in the normalised streams.
  Slot linear_in(Slot streams, const std::string& prefix, uint64_t rows) {
    const uint64_t columns = uint64_t{spec_.streams} * context_.model.width;
    const Slot normed = op::rms_norm(ops_, streams, kNoSlot, context_.model.output_norm.epsilon);
    return context_.linear(normed, prefix + "fn", rows, columns);
  }

  /// Sigmoids of linear functions of the streams, [., kinds * streams]; each kind has its scale.
  Slot gates(Slot streams, const std::string& prefix, uint64_t kinds) {
    const uint64_t rows = kinds * spec_.streams;
    const Slot logits = linear_in(streams, prefix, rows);
    const auto vector = [&](const char* name, uint64_t size, TensorRole role) {
      return context_.tensors.weight(prefix + name, {size}, role);
    };
    const Slot scaled = op::mul(ops_, logits, vector("scale.weight", kinds, TensorRole::Norm));
    return op::activate(ops_, TENON_ACTIVATION_SIGMOID,
                        op::add(ops_, scaled, vector("base.weight", rows, TensorRole::Bias)));
  }

  /// Weighted sum of the streams; the first stream without shares.
  Slot read(Slot streams, Slot shares) {
    if (shares == kNoSlot) {
      const uint32_t width = context_.model.width;
      return op::slice(ops_, streams, spec_.streams * width, 0, width);
    }
    return op::mix_streams(ops_, streams, {.streams = spec_.streams, .matrix = shares});
  }
  Slot written(Slot streams, Slot added, const Entered& how) {
    return op::mix_streams(ops_, streams,
                           {.streams = spec_.streams,
                            .results = spec_.streams,
                            .matrix = how.matrix,
                            .added = added,
                            .factors = how.factors});
  }
  /// Input of the output norm.
  Slot left(Slot streams) {
    if (spec_.late) return read(streams, shares_);
    if (spec_.mean) {
      const Slot sum = op::mix_streams(ops_, streams, {.streams = spec_.streams});
      return context_.scaled(sum, 1.0f / static_cast<float>(spec_.streams));
    }
    const Slot shares = gates(streams, "output_hc_", 1);
    return read(streams, op::scale(ops_, shares, 1.0f, spec_.epsilon));
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  const HyperConnectionSpec& spec_;
  Slot shares_ = kNoSlot;  ///< HyperConnectionSpec::late: shares for the next block
};

}  // namespace

Slot build_hyper_decoder(BuildContext& context) { return HyperDecoder(context).build(); }

}  // namespace tenon
