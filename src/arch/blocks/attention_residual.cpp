// Attention residuals, in the order in which a token passes through them.
#include "arch/blocks/attention_residual.h"

#include <string>

#include "arch/blocks/feed_forward.h"
#include "arch/blocks/mixer.h"
#include "arch/decoder.h"
#include "program/operations.h"

namespace tenon {
namespace {

class AttentionResidualDecoder {
 public:
  explicit AttentionResidualDecoder(BuildContext& context) : context_(context), ops_(context.ops) {}

  Slot build() {
    residual_ = embedding(context_);
    for (uint32_t layer = 0; layer < context_.model.layers.size(); ++layer) add_layer(layer);
    return output_head(context_, looked_at("output_res_score"));
  }

 private:
  void add_layer(uint32_t layer) {
    const LayerSpec& spec = context_.layer(layer);
    const auto name = [&](const char* tensor) { return context_.in_layer(layer, tensor); };
    const Slot read = num_sealed_ == 0 ? residual_ : looked_at(name("attn_res_score"));
    const bool begins = layer % context_.model.specs.get<AttentionResidualSpec>().layers == 0;
    if (begins) seal();
    const Slot mixed =
        mixer(context_, layer, context_.layer_norm(read, layer, spec.attention_norm));
    sealed_ = context_.wanted_rows(layer, sealed_);
    residual_ = begins ? mixed : op::add(ops_, context_.wanted_rows(layer, residual_), mixed);
    const Slot input =
        context_.layer_norm(looked_at(name("ffn_res_score")), layer, spec.feed_forward_norm);
    residual_ = op::add(ops_, residual_, feed_forward(context_, layer, input));
  }

  void seal() {
    sealed_ = num_sealed_ == 0 ? residual_ : op::concat(ops_, sealed_, residual_);
    ++num_sealed_;
  }

  /// [., width]: input of a block, by the scores `name`.
  Slot looked_at(const std::string& name) {
    const uint32_t width = context_.model.width;
    const uint32_t count = num_sealed_ + 1;
    const Slot weight = context_.tensors.weight(name + ".weight", {width}, TensorRole::Norm);
    const Slot values = op::concat(ops_, sealed_, residual_);
    const Slot keys = op::rms_norm(ops_, values, weight, context_.model.output_norm.epsilon, width);
    const Slot shares = op::softmax(ops_, op::sum_segments(ops_, keys, width), count);
    return op::mix_streams(ops_, values, {.streams = count, .matrix = shares});
  }

  BuildContext& context_;
  ProgramBuilder& ops_;
  Slot residual_ = kNoSlot;  // [., width]
  Slot sealed_ = kNoSlot;    // [., num_sealed_ * width]
  uint32_t num_sealed_ = 0;
};

}  // namespace

Slot build_attention_residual_decoder(BuildContext& context) {
  return AttentionResidualDecoder(context).build();
}

}  // namespace tenon
