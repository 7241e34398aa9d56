// Qwen 1 (general.architecture "qwen").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Bai et al. 2023, arXiv 2309.16609: Llama with biases on queries, keys and values. The stated
/// feed-forward width counts gate and up together. The published code's changes beyond the trained
/// context (dynamic NTK, LogN) are left out, as in llama.cpp.
ModelSpec read_qwen(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) {
    layer.attention.fused_qkv = true;
    layer.attention.qkv_bias = Presence::Required;
    if (layer.feed_forward.width % 2 != 0) {
      keys.refuse(Code::Format, "feed_forward_length", "is {}, not an even number",
                  layer.feed_forward.width);
    }
    layer.feed_forward.width /= 2;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kQwen{.read = read_qwen};

}  // namespace tenon
