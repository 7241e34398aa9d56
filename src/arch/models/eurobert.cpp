// EuroBERT (general.architecture "eurobert").
#include "arch/architecture.h"

namespace tenon {
namespace {

/// Boizard et al. 2025, arXiv 2503.05500: Llama as an encoder.
ModelSpec read_eurobert(const Keys& keys) {
  ModelSpec model = read_decoder(keys, {.rope_style = TENON_ROPE_HALVES});
  make_encoder(keys, TENON_POOL_MEAN, model);
  return model;
}

}  // namespace

extern constexpr Architecture kEuroBert{.read = read_eurobert, .build = build_encoder};

}  // namespace tenon
