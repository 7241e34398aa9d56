// OLMo 1 (general.architecture "olmo").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Groeneveld et al. 2024, arXiv 2402.00838: layer norms without weights; the 7B model clamps
/// queries, keys and values.
ModelSpec read_olmo(const Keys& keys) {
  ModelSpec model =
      read_decoder(keys, {.rope_style = TENON_ROPE_ADJACENT, .norm = NormKind::LayerUnweighted});
  read_qkv_clamp(keys, model);
  return model;
}

constexpr KeyValue kOlmoExample[] = {{"attention.clamp_kqv", 1.5f}};

}  // namespace

extern constexpr Architecture kOlmo{.read = read_olmo, .example = kOlmoExample};

}  // namespace tenon
