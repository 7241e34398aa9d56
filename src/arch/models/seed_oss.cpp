// Seed-OSS (general.architecture "seed_oss").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// ByteDance 2025: Llama with biases on queries, keys and values. These files name the norm before
/// the feed-forward like a norm after attention.
ModelSpec read_seed_oss(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  for (LayerSpec& layer : model.layers) {
    layer.feed_forward_norm.name = "post_attention_norm";
  }
  return model;
}

}  // namespace

extern constexpr Architecture kSeedOss{.read = read_seed_oss};

}  // namespace tenon
