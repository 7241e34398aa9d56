// Chameleon, for text only (general.architecture "chameleon").
#include <algorithm>
#include <string_view>

#include "arch/architecture.h"

namespace tenon {
namespace {

/// Epsilon of the norms of queries and keys: PyTorch's default. No key gives it.
constexpr float kHeadNormEpsilon = 1e-5f;
/// Most runs of adjacent image tokens; published models have one.
constexpr size_t kMostRuns = 64;

/// Meta 2024, arXiv 2405.09818: LLaMA with layer norms of queries and keys, with weights per head.
/// The larger model has its other norms after its blocks, as in Swin Transformer v2 (arXiv
/// 2111.09883).
ModelSpec read_chameleon(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT});
  const bool norms_after = keys.flag("swin_norm").value_or(false);
  for (LayerSpec& layer : model.layers) {
    layer.attention.qk_norm = QkNorm::LayerOfHead;
    layer.attention.qk_norm_epsilon = kHeadNormEpsilon;
    if (!norms_after) continue;
    layer.attention_post_norm = layer.attention_norm;
    layer.feed_forward_post_norm = layer.feed_forward_norm;
    layer.attention_norm = layer.feed_forward_norm = {};
  }
  return model;
}

/// Suppresses image tokens, which have a common prefix in their names.
void adapt_chameleon(const ModelFile& file, ModelSpec& model) {
  constexpr const char* kTokens = "tokenizer.ggml.tokens";
  if (!file.metadata().contains(kTokens)) return;
  const auto tokens = file.metadata().get<StringArray>(kTokens);
  for (uint32_t token = 0; token < std::min<uint64_t>(model.vocab, tokens.size()); ++token) {
    if (!tokens[token].starts_with("IMGIMG")) continue;
    if (!model.unsaid.empty() && model.unsaid.back().end == token) {
      ++model.unsaid.back().end;
    } else {
      model.unsaid.push_back({token, token + 1});
    }
  }
  if (model.unsaid.size() <= kMostRuns) return;
  fail(Code::Unsupported, "{}: key \"{}\" has tokens of pictures in {} places, more than {}",
       file.name(), kTokens, model.unsaid.size(), kMostRuns);
}

}  // namespace

extern constexpr Architecture kChameleon{.read = read_chameleon, .adapt = adapt_chameleon};

}  // namespace tenon
