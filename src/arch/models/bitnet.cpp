// BitNet b1.58 (general.architecture "bitnet").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Wang et al. 2023, arXiv 2310.11453, and Ma et al. 2025, arXiv 2504.12285: weights of -1, 0 and 1
/// with a scale, which files store multiplied or separately; norms before the second matrix of each
/// block. Inputs of the matrices are not rounded here.
ModelSpec read_bitnet(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  const std::string_view activation = keys.text_or("hidden_act", "silu");
  const bool is_squared = activation == "relu2";
  if (!is_squared && activation != "silu") {
    keys.refuse(Code::Unsupported, "hidden_act", "is \"{}\"; known are relu2, silu",
                activation.substr(0, 64));
  }
  const NormSpec norm = model.output_norm;
  for (LayerSpec& layer : model.layers) {
    layer.attention.attended_norm = {"attn_sub_norm", norm.kind, norm.epsilon};
    layer.feed_forward.hidden_norm = {"ffn_sub_norm", norm.kind, norm.epsilon};
    if (is_squared) layer.feed_forward.activation = TENON_ACTIVATION_RELU_SQUARED;
  }
  return model;
}

constexpr KeyValue kBitNetExample[] = {{"hidden_act", std::string_view("relu2")}};

}  // namespace

extern constexpr Architecture kBitNet{.read = read_bitnet, .example = kBitNetExample};

}  // namespace tenon
