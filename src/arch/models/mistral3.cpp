// Ministral 3 (general.architecture "mistral3").
#include <cmath>

#include "arch/architecture.h"
#include "arch/folder/folder_config.h"

namespace tenon {
namespace {

/// Mistral AI 2025: Llama with a YaRN that may keep the magnitude, and queries that may grow with
/// their position.
ModelSpec read_mistral3(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  read_query_scale(keys, model);
  const double multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e3);
  for (LayerSpec& layer : model.layers) {
    RopeSpec& rope = layer.attention.rope;
    if (rope.scaling != RopeScaling::Yarn || rope.factor <= 1.0) continue;
    rope.magnitude /= 1.0 + 0.1 * multiplier * std::log(rope.factor);
  }
  return model;
}

constexpr FolderForm kMistral3Folder{
    .types = "ministral3",
    .classes = "Mistral3ForConditionalGeneration Ministral3ForCausalLM",
    .wrappers = "mistral3",
    .keys =
        "vocab_size#embed_tokens\n"
        "num_key_value_heads!\nhead_dim!\n"
        "hidden_act=silu\n"
        "rms_norm_eps$attention.layer_norm_rms_epsilon\n"
        "sliding_window=\n",
    .reorders_heads = true};

}  // namespace

extern constexpr Architecture kMistral3{.read = read_mistral3, .folder = &kMistral3Folder};

}  // namespace tenon
