// Refact (general.architecture "refact").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Small Magellanic Cloud 2023, model card of Refact-1.6B: Llama with ALiBi and one head of keys
/// and values.
ModelSpec read_refact(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {});
  for (LayerSpec& layer : model.layers) {
    layer.attention.rope = {};
    layer.attention.alibi = true;
  }
  return model;
}

}  // namespace

extern constexpr Architecture kRefact{.read = read_refact};

}  // namespace tenon
